/** A user name or password of a URL. Where a `%` begins no escape it is meant as it stands: many people write a password as it is. */
export function loginOfUrl(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Fields of an HTML form (application/x-www-form-urlencoded; URL standard, section 5.1), the last of each name.
 * Null when something in it is not UTF-8: a name or a password with a character replaced would be another one.
 */
export function readForm(body: Uint8Array): Map<string, string> | null {
  const fields = new Map<string, string>();
  try {
    for (const part of utf8.decode(body).split('&')) {
      const at = part.indexOf('=');
      if (at >= 0) fields.set(decode(part.slice(0, at)), decode(part.slice(at + 1)));
    }
  } catch {
    return null;
  }
  return fields;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws URIError for a broken escape or bytes that are no text. */
const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));

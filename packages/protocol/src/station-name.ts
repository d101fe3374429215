/** `station.local` and `station-2.local` are one wish: Avahi appends the number where another machine has the name. In lower case. */
export const wishedName = (name: string): string => name.toLowerCase().replace(/(-\d+)?\.local$/, '.local');

/**
 * The name under which a station is found: `name`, or what the machine is called instead of it in multicast DNS.
 * @param mdnsName as Avahi tells it, like `station-2.local`; null: it does not answer.
 */
export const foundName = (name: string, mdnsName: string | null): string =>
  mdnsName !== null && name.endsWith('.local') && wishedName(name) === wishedName(mdnsName) ? mdnsName : name;

/** `foundName` for the host of a URL. @returns without a slash at its end when the host is another one. */
export function foundUrl(url: string, mdnsName: string | null): string {
  const found = new URL(url);
  const name = foundName(found.hostname, mdnsName);
  if (name === found.hostname) return url;
  found.hostname = name;
  return found.href.replace(/\/$/, '');
}

import { isIPv6 } from '@station/kit/node-tables';

/**
 * What stands for one household or machine when attempts are counted: an IPv4 address, or the first 64 bits of an IPv6 address, because
 * everybody with IPv6 has at least that many addresses (RFC 6177).
 */
export function networkOf(address: string): string {
  const groups = groupsOf(address);
  return groups === null ? plainOf(address) : `${groups.slice(0, 4).join(':')}::/64`;
}

/** The larger networks of an IPv6 address that one subscriber may have (RFC 6177): its /56 and its /48. None for IPv4. */
export function widerNetworksOf(address: string): { subnet: string; site: string } | null {
  const groups = groupsOf(address);
  if (groups === null) return null;
  const site = groups.slice(0, 3).join(':');
  const subnet = (Number.parseInt(groups[3] ?? '0', 16) & 0xff00).toString(16);
  return { subnet: `${site}:${subnet}::/56`, site: `${site}::/48` };
}

const plainOf = (address: string): string => address.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/i, '');

/** The eight groups of an IPv6 address; null for any other. */
function groupsOf(address: string): string[] | null {
  const plain = plainOf(address);
  if (!isIPv6(plain)) return null;
  // A URL has the shortest form in lower case.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const partsOf = (part: string): string[] => part.split(':').filter((group) => group !== '');
  const first = partsOf(head);
  const last = partsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last];
}

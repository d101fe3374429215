import { isIPv6 } from '@station/kit/node-tables';

/**
 * What stands for one household or machine when attempts are counted: an IPv4 address, or the first 64 bits of an IPv6 address, because
 * everybody with IPv6 has at least that many addresses (RFC 6177).
 */
export function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (!isIPv6(plain)) return plain;
  // A URL has the shortest form in lower case.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string): string[] => part.split(':').filter((group) => group !== '');
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

import { BlockList, isIP } from './node-tables.ts';

/** A subnet. `range`: from its first to its last address, `192.168.0.0-192.168.255.255`; null of IPv6. */
export type Subnet = { version: 4 | 6; addresses: BlockList; range: string | null };

/** `192.168.0.0/16` or `fd00::/8`; null: it is none. */
export function readSubnet(text: string): Subnet | null {
  const { address = '', bits = '' } = /^(?<address>[\da-f.:]+)\/(?<bits>\d{1,3})$/i.exec(text)?.groups ?? {};
  const version = isIP(address);
  if ((version !== 4 && version !== 6) || Number(bits) > (version === 4 ? 32 : 128)) return null;
  const addresses = new BlockList();
  addresses.addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6');
  return { version, addresses, range: version === 4 ? rangeOf(address, Number(bits)) : null };
}

/** @param host an address without brackets, or a name, which is in no subnet. */
export const isWithinSubnet = ({ version, addresses }: Subnet, host: string): boolean =>
  isIP(host) === version && addresses.check(host, version === 4 ? 'ipv4' : 'ipv6');

function rangeOf(address: string, bits: number): string {
  const size = 2 ** (32 - bits);
  const first = numberOf(address) - (numberOf(address) % size);
  return `${addressOf(first)}-${addressOf(first + size - 1)}`;
}

const numberOf = (address: string): number => address.split('.').reduce((all, part) => all * 256 + Number(part), 0);
const addressOf = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');

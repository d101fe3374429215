import { isIPv4 } from './node-tables.ts';

/** A subnet of IPv4, as the numbers of its first and its last address. */
export type Subnet = { first: number; last: number };

/** `192.168.0.0/16`; null: it is none. */
export function readSubnet(text: string): Subnet | null {
  const { address = '', bits = '' } = /^(?<address>[\d.]+)\/(?<bits>\d{1,2})$/.exec(text)?.groups ?? {};
  if (!isIPv4(address) || Number(bits) > 32) return null;
  const size = 2 ** (32 - Number(bits));
  const first = numberOf(address) - (numberOf(address) % size);
  return { first, last: first + size - 1 };
}

export const isWithinSubnet = ({ first, last }: Subnet, host: string): boolean =>
  isIPv4(host) && numberOf(host) >= first && numberOf(host) <= last;

const numberOf = (address: string): number => address.split('.').reduce((all, part) => all * 256 + Number(part), 0);
export const addressOf = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');

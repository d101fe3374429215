import { isIPv4 } from '@station/kit/node-tables';

/** @param name of a URL: an address of IPv6 is in brackets. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || (isIPv4(name) && name.startsWith('127.')) || name === '[::1]';

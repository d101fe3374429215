import { isIPv4 } from '@station/kit/node-tables';

/** @param name of a URL: an address of IPv6 is in brackets. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || (isIPv4(name) && name.startsWith('127.')) || name === '[::1]';

/** Whether others on the network could write what is read from there: it is not signed, and comes over `http://` from another machine. */
export const isForgeable = (url: URL, keys: object | null): boolean =>
  keys === null && url.protocol === 'http:' && !isLoopback(url.hostname);

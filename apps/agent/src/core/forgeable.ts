import { isLoopback } from './loopback.ts';

/** Whether others on the network could write what is read from there: it is not signed, and comes over `http://` from another machine. */
export const isForgeable = (url: URL, keys: object | null): boolean =>
  keys === null && url.protocol === 'http:' && !isLoopback(url.hostname);

import { plainText } from '@station/protocol/plain-text';
import { isSsidTooLong } from '@station/protocol/wifi-password';

const longestName = 100;
const mostNetworks = 100;

/** The name that a device gives itself, as people see it; empty: none. */
export const deviceName = (name: string): string => plainText(name).trim().slice(0, longestName);

/** Names of networks to choose from, each once. What no person can tell from another name is left out; it can be typed. */
export const networkNames = (found: readonly string[]): string[] =>
  [...new Set(found)]
    .filter((name) => name !== '' && !isSsidTooLong(name) && plainText(name) === name)
    .slice(0, mostNetworks);

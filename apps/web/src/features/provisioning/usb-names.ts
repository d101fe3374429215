/** Control characters, line breaks, and what turns the text around it (UAX 9): names come from a device that may say anything. */
const commands = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const longestName = 100;
/** Of Wi-Fi (IEEE 802.11), bytes. */
const longestSsid = 32;
const mostNetworks = 100;

/** The name that a device gives itself, as people see it; empty: none. */
export const deviceName = (name: string): string => name.replaceAll(commands, '').trim().slice(0, longestName);

/** Names of networks to choose from, each once. What no person can tell from another name is left out; it can be typed. */
export const networkNames = (found: readonly string[]): string[] =>
  [...new Set(found)]
    .filter((name) => name !== '' && name.length <= longestSsid && name.replaceAll(commands, '') === name)
    .slice(0, mostNetworks);

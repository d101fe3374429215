import type { Security } from '@station/protocol/wifi-password';

/**
 * A network name: 1 to 32 bytes of any value (IEEE 802.11-2020, 9.4.2.2), kept as lower-case hex, so that it compares, journals and
 * travels through a form without loss. It is not always text.
 */
export type SsidHex = string;

const longestBytes = 32;

export const ssidFromBytes = (bytes: Uint8Array): SsidHex => Buffer.from(bytes).toString('hex');
export const ssidFromText = (text: string): SsidHex => Buffer.from(text, 'utf8').toString('hex');
export const ssidToBytes = (ssid: SsidHex): Uint8Array => Buffer.from(ssid, 'hex');

export const isSsidHex = (text: string): boolean =>
  /^([0-9a-f]{2})+$/.test(text) && text.length <= 2 * longestBytes && text.length > 0;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The name as text that leads to the same bytes; null when they are no UTF-8. */
export function ssidToText(ssid: SsidHex): string | null {
  try {
    return utf8.decode(ssidToBytes(ssid));
  } catch {
    return null;
  }
}

/** For people: the name as text, invalid bytes and control characters as `\xNN`. Not reversible; never used to join. */
export function describeSsid(ssid: SsidHex): string {
  const text = ssidToText(ssid);
  if (text !== null) return text.replace(/\p{C}/gu, escapeBytes);
  return [...ssidToBytes(ssid)]
    .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : escapeByte(byte)))
    .join('');
}

const escapeByte = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;
const escapeBytes = (character: string): string => [...Buffer.from(character, 'utf8')].map(escapeByte).join('');

/** One network in range: its strongest access point represents all of the same name and security. */
export type Network = {
  ssid: SsidHex;
  /** From the RSN and WPA flags of its access points. */
  security: Security;
  /** Per cent. */
  signal: number;
  /** As in `RadioFacts.known`. */
  isKnown: boolean;
};

/** A join request from the setup page or the web app. */
export type JoinRequest = {
  ssid: SsidHex;
  /** Null: as in the last scan; for a hidden network it is chosen on the page or detected. */
  security: Security | null;
  /** Null for an open network. */
  password: string | null;
  /** Its name was typed: access points do not broadcast it. */
  isHidden: boolean;
};

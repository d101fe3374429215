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

/** For people: the name as text, bytes that are none (and control characters) as `\xNN`. Not reversible; never used to join. */
export function describeSsid(ssid: SsidHex): string {
  const bytes = ssidToBytes(ssid);
  try {
    return utf8.decode(bytes).replace(/\p{C}/gu, escapeBytes);
  } catch {
    return [...bytes]
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : escapeByte(byte)))
      .join('');
  }
}

const escapeByte = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;
const escapeBytes = (character: string): string => [...Buffer.from(character, 'utf8')].map(escapeByte).join('');

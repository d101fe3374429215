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

/** For people: the name as text, invalid bytes and control characters as `\xNN`. Not reversible; never used to join. */
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

/** How a network is secured, from the RSN and WPA flags of its access points. `enterprise` and `wep` cannot be joined from the portal. */
export const securities = ['open', 'owe', 'wep', 'wpa2', 'wpa3', 'wpa2-wpa3', 'enterprise'] as const;
export type Security = (typeof securities)[number];
/** Joined without a password. */
export const isFree = (security: Security | null): boolean => security === 'open' || security === 'owe';

/** One network in range: its strongest access point represents all of the same name and security. */
export type Network = {
  ssid: SsidHex;
  security: Security;
  /** Per cent. */
  signal: number;
  /** As in `RadioFacts.known`. */
  isKnown: boolean;
};

/** A join request from the portal's page. */
export type JoinRequest = {
  ssid: SsidHex;
  /** Null: as in the last scan; for a hidden network it is chosen on the page or detected. */
  security: Security | null;
  /** Null for an open network. */
  password: string | null;
  /** Its name was typed: access points do not broadcast it. */
  isHidden: boolean;
};

/** Why a network could not be joined. Each has a text on the portal's page that names what to do. */
export const joinFailures = [
  'wrong_password',
  'not_found',
  'no_address',
  /** Joined and got an address, but nothing answers there, not even the gateway. */
  'no_gateway',
  /** This radio or station does not support this kind of security. */
  'unsupported',
  /** The access point rejected the station. */
  'refused',
  'timed_out',
  'failed',
] as const;
export type JoinFailure = (typeof joinFailures)[number];

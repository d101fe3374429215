/** A minisign public key (minisign manual, "Public key format"): `Ed`, 8 bytes of key id, 32 bytes of Ed25519 key. */
export type SigningKey = {
  /** Its base64 line, as in the second line of the `.pub` file. */
  readonly text: string;
  readonly keyId: Uint8Array;
  readonly publicKey: Uint8Array;
};

/** Reads the base64 line of a key; null when it is none. */
export function parseSigningKey(text: string): SigningKey | null {
  if (!/^[A-Za-z0-9+/]{56}$/.test(text)) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (bytes[0] !== 0x45 || bytes[1] !== 0x64) return null;
  return { text, keyId: bytes.slice(2, 10), publicKey: bytes.slice(10) };
}

/** A key id as minisign shows it (`%PRIX64`): a little-endian number in hexadecimal digits, without leading zeros. */
export const formatKeyId = (keyId: Uint8Array): string =>
  [...keyId]
    .reverse()
    .map((byte) => byte.toString(16).padStart(2, '0').toUpperCase())
    .join('')
    .replace(/^0+(?=.)/, '');

import { hash, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** A new secret of 256 random bits, as text for headers and cookies. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** SHA-256 in hex: the stored form of a random token. Too fast for passwords, which people choose. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex');

/** Compares two hashes in constant time. Values of different length are never equal. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** No letters and digits that look alike; no vowels, so that codes do not form words. */
export const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789';

const groupLength = 4;

/** A secret that is easy to read aloud and to type: "BCDF-2345-GHJK"; 19 bits a group. */
export function newCode(groupCount: number): string {
  return codeOf(groupCount, () => randomInt(alphabet.length));
}

export function codeOf(groupCount: number, letter: (index: number) => number): string {
  const at = (index: number): string => alphabet[letter(index)] ?? '';
  const group = (_: unknown, number: number): string =>
    Array.from({ length: groupLength }, (_letter, place) => at(number * groupLength + place)).join('');
  return Array.from({ length: groupCount }, group).join('-');
}

/** Secrets that all replicas share, derived from JWT_SECRET (HKDF, RFC 5869): each replica has its own data directory. */
type SharedSecrets = {
  /** 32 bytes; encrypts the settings. */
  settingsKey: Buffer;
  /** Bytes from which the set-up code is derived. */
  setupSeed: Buffer;
};

export function deriveSecrets(jwtSecret: string): SharedSecrets {
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', jwtSecret, '', `station ${purpose}`, 32));
  return { settingsKey: derive('settings'), setupSeed: derive('setup code') };
}

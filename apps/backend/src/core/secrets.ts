import { hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** A new secret of 256 random bits, as text for headers and cookies. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** SHA-256 in hex: the stored form of a random token. Too fast for passwords, which people choose. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex');

/** Compares two hashes in constant time. Values of different length are never equal. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

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

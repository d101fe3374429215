import { hkdfSync } from 'node:crypto';

/** What every replica must know alike, derived from JWT_SECRET (HKDF, RFC 5869), since each has a data directory of its own. */
export type SharedSecrets = {
  /** 32 bytes; encrypts the settings. */
  settingsKey: Buffer;
  /** Bytes that the code of the first run is made of. */
  setupSeed: Buffer;
};

export function deriveSecrets(jwtSecret: string): SharedSecrets {
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', jwtSecret, '', `station ${purpose}`, 32));
  return { settingsKey: derive('settings'), setupSeed: derive('setup code') };
}

import { hash, randomBytes } from 'node:crypto';

/** A new secret of 256 random bits, as text for headers and cookies. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** SHA-256 in hex: what is stored of a random token. Too fast for passwords, which people choose. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex');

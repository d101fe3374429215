import { argon2Sync, randomBytes, timingSafeEqual } from 'node:crypto';

/** Takes a processor for tens to hundreds of milliseconds, on slow boards more. */
export type PasswordHashes = {
  /** @returns PHC string, e.g. `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`. */
  hash(password: string): Promise<string>;
  /** Takes the same time whether or not there is a hash to compare with: null is a user that does not exist. */
  matches(password: string, phc: string | null): Promise<boolean>;
};

/** Clouds of the field send bcrypt (contracts, section 12). A higher cost would occupy a small board for too long. */
const bcryptPattern = /^\$2[aby]\$(0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/;

/** Whether a log-in replaces it by a hash of our own. */
export const isBcrypt = (hash: string): boolean => bcryptPattern.test(hash);

/** Of argon2id. `memory`: KiB. */
type Cost = { memory: number; passes: number; parallelism: number };
type Parameters = Cost & { nonce: Buffer; tag: Buffer };

/** OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, 2 passes, 1 lane. */
const usualCost: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;
/** Above our own cost, for hashes from the cloud; one of these fits into the memory of a container. */
const highest: Cost = { memory: 262_144, passes: 10, parallelism: 4 };

/**
 * Argon2id (RFC 9106) by Node's crypto. It occupies the thread that it runs in.
 * @param cost of new hashes, and of those of users that do not exist.
 */
export function createPasswordHashes(cost = usualCost): PasswordHashes {
  const tagOf = (password: string, from: Omit<Parameters, 'tag'>, tagLength: number): Buffer =>
    argon2Sync('argon2id', { message: password, tagLength, ...from });
  const noUser: Parameters = { ...cost, nonce: randomBytes(saltBytes), tag: randomBytes(tagBytes) };
  return {
    hash: async (password) => {
      const nonce = randomBytes(saltBytes);
      const tag = tagOf(password, { ...cost, nonce }, tagBytes);
      const { memory, passes, parallelism } = cost;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
    },
    matches: async (password, phc) => {
      if (phc !== null && isBcrypt(phc)) {
        const { compare } = await import('bcryptjs');
        return compare(password, phc);
      }
      const { tag, ...parameters } = (phc === null ? null : parsePhc(phc)) ?? noUser;
      return timingSafeEqual(tagOf(password, parameters, tag.length), tag);
    },
  };
}

const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Null for any other format or a cost beyond `highest`: such a hash matches nothing. */
function parsePhc(phc: string): Parameters | null {
  const match = phcPattern.exec(phc);
  if (match === null) return null;
  const memory = Number(match[1]);
  const passes = Number(match[2]);
  const parallelism = Number(match[3]);
  if (memory > highest.memory || passes > highest.passes || parallelism > highest.parallelism) return null;
  if (passes < 1 || parallelism < 1 || memory < 8 * parallelism) return null;
  return {
    memory,
    passes,
    parallelism,
    nonce: Buffer.from(match[4]!, 'base64'),
    tag: Buffer.from(match[5]!, 'base64'),
  };
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

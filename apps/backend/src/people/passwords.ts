import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { StationError } from '@station/kit/station-error';

export type Passwords = {
  /** @returns PHC string, e.g. `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`. */
  hash(password: string): Promise<string>;
  /**
   * Takes the same time whether or not there is a hash to compare with: null is a user that does not exist.
   * @param from known people come first, and always have a turn.
   * @throws (rejects) StationError `busy` when too many others wait.
   */
  matches(password: string, phc: string | null, from?: { isKnown: boolean }): Promise<boolean>;
};

/** Clouds of the field send bcrypt (contracts, section 12). A higher cost would occupy a small board for too long. */
const bcryptPattern = /^\$2[aby]\$(0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/;

/** Whether a log-in replaces it by a hash of our own. */
export const isBcrypt = (hash: string): boolean => bcryptPattern.test(hash);

type Parameters = { memory: number; passes: number; parallelism: number; nonce: Buffer; tag: Buffer };

/** OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, 2 passes, 1 lane. Memory in KiB. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const saltBytes = 16;
const tagBytes = 32;
/** Each one holds 19 MiB while it runs. */
const hashesAtOnce = 2;
/** Of people who are not known. A slow board needs some 10 s for them. */
const maxWaiting = 50;
const retryAfterSeconds = 5;
/** Above our own cost, for hashes from the cloud; far below what would exhaust the machine. */
const highest = { memory: 262_144, passes: 10, parallelism: 4 } as const;

const derive = promisify(argon2);

/** Password hashes with argon2id (RFC 9106) by Node's crypto, off the main thread and at most two at once. */
export function createPasswords(): Passwords {
  const atMostTwo = createGate(hashesAtOnce);
  const tagOf = (password: string, from: Omit<Parameters, 'tag'>, tagLength: number, isKnown = true): Promise<Buffer> =>
    atMostTwo(isKnown, () => derive('argon2id', { message: password, tagLength, ...from }));
  const noUser: Parameters = { ...cost, nonce: randomBytes(saltBytes), tag: randomBytes(tagBytes) };

  return {
    hash: async (password) => {
      const nonce = randomBytes(saltBytes);
      const tag = await tagOf(password, { ...cost, nonce }, tagBytes);
      const { memory, passes, parallelism } = cost;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
    },
    matches: async (password, phc, { isKnown } = { isKnown: true }) => {
      if (phc !== null && isBcrypt(phc)) {
        const { compare } = await import('bcryptjs');
        return atMostTwo(isKnown, () => compare(password, phc));
      }
      const { tag, ...parameters } = (phc === null ? null : parsePhc(phc)) ?? noUser;
      return timingSafeEqual(await tagOf(password, parameters, tag.length, isKnown), tag);
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

type Gate = <T>(isKnown: boolean, action: () => Promise<T>) => Promise<T>;

function createGate(width: number): Gate {
  let running = 0;
  const known: (() => void)[] = [];
  const others: (() => void)[] = [];
  return async (isKnown, action) => {
    if (!isKnown && others.length >= maxWaiting) throw busy();
    if (running >= width) await new Promise<void>((resolve) => (isKnown ? known : others).push(resolve));
    else running++;
    try {
      return await action();
    } finally {
      // The slot passes directly to the next caller in the queue.
      const next = known.shift() ?? others.shift();
      if (next) next();
      else running--;
    }
  };
}

const busy = (): StationError =>
  new StationError('busy', 'Too many people try to log in now. Try again in a moment.', {
    details: { retryAfterSeconds },
  });

import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { NewPasskey, PasskeyCreation, PasskeyLogin, PasskeyRequest } from '@station/protocol/passkeys';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { StationStore, UserStore } from '../store/station-store.ts';
import { checkPassword, countAttempt, type Limited, type OpenedSession, openedSession } from './auth-service.ts';
import type { LoginLimiter } from './login-limiter.ts';
import type { LoginMemory } from './login-memory.ts';
import { challengeIn, creationOptions, requestOptions, verifyCreated, verifyUse } from './passkey-ceremonies.ts';
import type { PasskeyChallenges } from './passkey-challenges.ts';
import { maxPasskeys, type PasskeyRow, type PasskeyStore } from './passkey-store.ts';
import type { Passwords } from './passwords.ts';
import type { RelyingParty } from './relying-party.ts';
import type { Client, Sessions } from './sessions.ts';

type OptionsResult =
  | { kind: 'made'; options: PasskeyCreation }
  | Limited
  | { kind: 'wrong_password' }
  | { kind: 'full' };
type AddResult = { kind: 'added'; passkey: PasskeyRow } | { kind: 'known' | 'full' | 'invalid' };
type LoginResult = OpenedSession | Limited | { kind: 'unknown' };

/** Passkeys: keys of Web Authentication with which a user logs in without a password. Passwords always stay. */
export type PasskeyService = {
  list(userId: string): Promise<PasskeyRow[]>;
  /** The present password proves that it is not somebody who found an open browser. */
  creationOptions(
    userId: string,
    password: string,
    place: { party: RelyingParty; client: Client },
  ): Promise<OptionsResult>;
  add(userId: string, passkey: NewPasskey, party: RelyingParty): Promise<AddResult>;
  rename(userId: string, id: string, name: string): Promise<PasskeyRow | null>;
  remove(userId: string, id: string): Promise<boolean>;
  loginOptions(party: RelyingParty): PasskeyRequest;
  logIn(login: PasskeyLogin, place: { party: RelyingParty; client: Client }): Promise<LoginResult>;
};

type Parts = {
  users: UserStore;
  station: StationStore;
  sessions: Sessions;
  accessTokens: AccessTokens;
  passwords: Passwords;
  limiter: LoginLimiter;
  memory: LoginMemory;
  passkeys: PasskeyStore;
  challenges: PasskeyChallenges;
  clock: Clock;
  logger: BackendLogger;
};

export function createPasskeyService(parts: Parts): PasskeyService {
  const { passkeys, challenges } = parts;
  return {
    list: passkeys.list,
    creationOptions: (userId, password, place) => makeCreationOptions(parts, userId, password, place),
    add: (userId, passkey, party) => add(parts, userId, passkey, party),
    rename: passkeys.rename,
    remove: passkeys.remove,
    loginOptions: (party) => requestOptions(party, challenges.issue({ kind: 'log_in', host: party.host })),
    logIn: (login, place) => logIn(parts, login, place),
  };
}

async function makeCreationOptions(
  parts: Parts,
  userId: string,
  password: string,
  { party, client }: { party: RelyingParty; client: Client },
): Promise<OptionsResult> {
  const { station, passkeys, challenges } = parts;
  const checked = await checkPassword(parts, userId, password, client);
  if (checked.kind !== 'right') return checked;
  const known = await passkeys.list(userId);
  if (known.length >= maxPasskeys) return { kind: 'full' };
  const { name: stationName } = await station.read();
  const challenge = challenges.issue({ kind: 'add', host: party.host, userId, password: checked.hash });
  return { kind: 'made', options: creationOptions({ party, stationName, person: checked.user, challenge, known }) };
}

async function add(
  { users, passkeys, challenges, clock }: Parts,
  userId: string,
  { name, credential }: NewPasskey,
  party: RelyingParty,
): Promise<AddResult> {
  const challenge = challengeIn(credential.response);
  const passwordHash = (await users.findById(userId))?.station_password_hash ?? null;
  if (challenge === null || passwordHash === null) return { kind: 'invalid' };
  // The hash, so that the challenge ends with the password that was asked for it.
  if (!challenges.accepts(challenge, { kind: 'add', host: party.host, userId, password: passwordHash }))
    return { kind: 'invalid' };
  const key = await verifyCreated(credential, party, challenge);
  if (key === null) return { kind: 'invalid' };
  const passkey: PasskeyRow = {
    id: randomUUIDv7(),
    user_id: userId,
    name: name.trim(),
    rp_id: party.host,
    credential_id: key.credentialId,
    public_key: key.publicKey,
    counter: key.counter,
    created_at: clock.now(),
    used_at: null,
  };
  const result = await passkeys.add(passkey, { passwordHash, challenge });
  if (result === 'added') return { kind: 'added', passkey };
  return { kind: result === 'refused' ? 'invalid' : result };
}

async function logIn(
  parts: Parts,
  { credential }: PasskeyLogin,
  { party, client }: { party: RelyingParty; client: Client },
): Promise<LoginResult> {
  const { accessTokens, limiter, logger } = parts;
  const { address, device } = client;
  // By network or browser only: the account is not known before the key is, and nobody else can fail with its key.
  const attempt = { account: null, address, device };
  const counted = await countAttempt(parts, attempt);
  if (counted.kind === 'limited') return counted;
  const since = accessTokens.moment();
  const opened = await openSession(parts, credential, party, client);
  if (opened === null) {
    logger.event('login_failed', { address, reason: 'passkey not valid' });
    return { kind: 'unknown' };
  }
  await limiter.succeeded(attempt, opened.user.id);
  return openedSession(parts, { user: opened.user, session: opened.session, client }, since);
}

async function openSession(
  { users, sessions, passkeys, challenges }: Parts,
  credential: PasskeyLogin['credential'],
  party: RelyingParty,
  client: Client,
) {
  const challenge = challengeIn(credential.response);
  if (challenge === null || !challenges.accepts(challenge, { kind: 'log_in', host: party.host })) return null;
  const row = await passkeys.find(credential.id, party.host);
  if (row === null) return null;
  const user = await users.findById(row.user_id);
  const hash = user?.station_password_hash ?? null;
  const counter = await verifyUse(credential, { row, party }, challenge);
  if (user === null || hash === null || counter === null) return null;
  if (!(await passkeys.use(row, counter, challenge))) return null;
  // Refused for a closed account, and when a reset removed the passkeys since: it has changed the password as well.
  const session = await sessions.open(user.id, hash, client);
  return session && { user, session };
}

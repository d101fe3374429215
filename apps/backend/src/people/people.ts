import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import type { AccessTokens } from '../core/access-tokens.ts';
import { hashToken } from '../core/secrets.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { HttpServer } from '../http/server.ts';
import type { Database } from '../store/schema.ts';
import { createUserStore, type StationStore } from '../store/station-store.ts';
import { type LostBefore, registerAuthRoutes, type SetupGate, setupGateOf } from './auth-routes.ts';
import { createAuthService } from './auth-service.ts';
import { createFirstRun } from './first-run.ts';
import { createLoginLimiter } from './login-limiter.ts';
import { createLoginMemory } from './login-memory.ts';
import { createMemberService } from './member-service.ts';
import { challengeKeyOf, createPasskeyChallenges } from './passkey-challenges.ts';
import { registerPasskeyRoutes } from './passkey-routes.ts';
import { createPasskeyService } from './passkey-service.ts';
import { createPasskeyStore } from './passkey-store.ts';
import { createPasswords } from './passwords.ts';
import { type Client, createSessions } from './sessions.ts';
import { createSetupCode, type SetupCode } from './setup-code.ts';
import { registerStationRoutes } from './station-routes.ts';

export type PeopleParts = {
  db: Database;
  station: StationStore;
  accessTokens: AccessTokens;
  refreshKey: Buffer;
  /** The code on the station's label; null: one is generated. */
  stationCode: string | null;
  /** Undefined: there is one backend, which creates its own code. */
  setupSeed: Buffer | undefined;
  dataDir: string;
  version: string;
  clock: Clock;
  trustedTime: TrustedTime;
  /** Its name, time zone or place. */
  onStationChanged: () => Promise<void>;
  events: StationEvents;
  lost: LostBefore;
  disk: Disk;
  logger: BackendLogger;
};

/** Accounts, sessions, members, and the set-up code. @returns what guards routes of a station without an owner. */
export async function registerPeopleRoutes(app: HttpServer, parts: PeopleParts): Promise<SetupGate> {
  const { db, station, dataDir, version, clock, trustedTime, disk, logger } = parts;
  const users = createUserStore(db);
  const onOpened = (userId: string, client: Client): void => noteLogin(parts.events, userId, client);
  const sessions = createSessions({ db, key: parts.refreshKey, clock, trustedTime, onOpened });
  const passwords = createPasswords();
  const { stationCode, setupSeed: seed } = parts;
  const setupCode = createSetupCode({ disk, path: join(dataDir, 'setup-code'), stationCode, seed });
  const people = { db, users, station, sessions, accessTokens: parts.accessTokens, passwords, clock };
  const memory = createLoginMemory(db, (error) => logger.failed('limits of log-ins', error));
  const limiter = createLoginLimiter({ clock, memory });
  const firstRun = createFirstRun();
  const auth = createAuthService({ ...people, setupCode, firstRun, limiter, memory, logger });
  const { lost } = parts;
  await registerAuthRoutes(app, { auth, users, station, clock, lost });
  const challenges = createPasskeyChallenges({ key: challengeKeyOf(parts.refreshKey), clock });
  const passkeys = createPasskeyStore({ db, clock, trustedTime });
  registerPasskeyRoutes(app, {
    passkeys: createPasskeyService({ ...people, passkeys, challenges, limiter, memory, logger }),
    clock,
  });
  await registerStationRoutes(app, {
    station,
    members: createMemberService(people),
    version,
    events: parts.events,
    onChanged: parts.onStationChanged,
    clock,
  });
  if (await auth.isSetupNeeded()) await logSetupCode(logger, setupCode, stationCode);
  else await lost.forget();
  return setupGateOf(auth, firstRun);
}

/** Kept once for each kind of browser: without its version, which changes with each of its updates. */
function noteLogin(events: StationEvents, userId: string, { userAgent, address }: Client): void {
  const browser = (userAgent ?? '').replaceAll(/[\d._]+/g, '');
  const once = `login ${userId} ${hashToken(browser)}`;
  events.note('new_login', { userId, userAgent: userAgent ?? null, address }, { userId, once });
}

/** Whoever may read the log must not become the owner with it. */
async function logSetupCode(logger: BackendLogger, setupCode: SetupCode, stationCode: string | null): Promise<void> {
  const code = await setupCode.read();
  logger.keepSecret(code);
  const how =
    stationCode === null ? '`station-agent code`, or the file setup-code in DATA_DIR' : '`station-agent code`';
  const message = `Open the web app and enter the set-up code of the station (${how}) to become its owner.`;
  logger.event('setup_pending', { message });
}

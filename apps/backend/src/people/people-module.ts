import { join } from 'node:path';
import type { BackendLogger } from '@station/kit/logger';
import { createAskedThread } from '../core/adapters/asked-thread.ts';
import { findThreadProgram } from '../core/adapters/thread-program.ts';
import { hashToken } from '../core/secrets.ts';
import type { StationEvents } from '../core/station-events.ts';
import { type Module, opened } from '../platform/module.ts';
import { createUserStore } from '../store/station-store.ts';
import { type LostBefore, registerAuthRoutes, type SetupGate, setupGateOf } from './auth-routes.ts';
import { createAuthService } from './auth-service.ts';
import { createFirstRun } from './first-run.ts';
import { startGuestEnds } from './guest-ends.ts';
import { createLoginLimiter } from './login-limiter.ts';
import { createLoginMemory } from './login-memory.ts';
import { createMemberService } from './member-service.ts';
import { challengeKeyOf, createPasskeyChallenges } from './passkey-challenges.ts';
import { registerPasskeyRoutes } from './passkey-routes.ts';
import { createPasskeyService } from './passkey-service.ts';
import { createPasskeyStore } from './passkey-store.ts';
import { createPasswordHashes, type PasswordHashes } from './password-hashes.ts';
import { createPasswords, type PasswordQuestion, type Passwords, threadedHashes } from './passwords.ts';
import { type Client, createSessions } from './sessions.ts';
import { createSetupCode, type SetupCode } from './setup-code.ts';
import { registerStationRoutes } from './station-routes.ts';

type PeopleNeeds = {
  config: PeopleConfig;
  refreshKey: Buffer;
  /** Undefined: there is one backend, which creates its own code. */
  setupSeed: Buffer | undefined;
  lost: LostBefore;
  /** Its name, time zone or place. */
  onStationChanged: () => Promise<void>;
};

type PeopleConfig = {
  /** The code on the station's label; null: one is generated. */
  stationCode: string | null;
  dataDir: string;
  version: string;
  /** Compares passwords in a thread of its own. */
  hasThreads: boolean;
  /** Undefined: the usual ones. */
  passwordHashes: PasswordHashes | undefined;
};

/** The thread needs some megabytes. Who mistyped tries again within a minute. */
const idleMs = 60_000;

/** What guards routes of a station without an owner. */
type PeopleDoor = { gate: SetupGate };

/** Accounts, sessions, members, and the set-up code. */
export const peopleModule: Module<PeopleNeeds, PeopleDoor> = {
  open: async (platform, { config, refreshKey, setupSeed, lost, onStationChanged }) => {
    const { host, store, station, tokens: accessTokens, trustedTime, stationEvents: events } = platform;
    const { clock, disk, logger } = host;
    const { db } = store;
    const { stationCode, dataDir, version } = config;
    await using opening = new AsyncDisposableStack();
    const users = createUserStore(db);
    const onOpened = (userId: string, client: Client): void => noteLogin(events, userId, client);
    const sessions = createSessions({ db, key: refreshKey, clock, trustedTime, onOpened });
    const setupCode = createSetupCode({ disk, path: join(dataDir, 'setup-code'), stationCode, seed: setupSeed });
    const people = {
      db,
      users,
      station,
      sessions,
      accessTokens,
      passwords: openPasswords(opening, config, logger),
      clock,
    };
    const memory = createLoginMemory(db, (error) => logger.failed('limits of log-ins', error));
    const limiter = createLoginLimiter({ clock, memory });
    const firstRun = createFirstRun();
    const auth = createAuthService({ ...people, setupCode, firstRun, limiter, memory, logger });
    const passkeys = createPasskeyService({
      ...people,
      passkeys: createPasskeyStore({ db, clock, trustedTime }),
      challenges: createPasskeyChallenges({ key: challengeKeyOf(refreshKey), clock }),
      limiter,
      memory,
      logger,
    });
    const members = createMemberService(people);
    opening.use(startGuestEnds({ db, accessTokens, clock, trustedTime, logger }));
    const door = { gate: setupGateOf(auth, firstRun) };
    return opened(opening.move(), door, {
      serve: async ({ app }) => {
        registerAuthRoutes(app, { auth, users, station, clock, lost });
        registerPasskeyRoutes(app, { passkeys, clock });
        await registerStationRoutes(app, { station, members, version, events, onChanged: onStationChanged, clock });
      },
      begin: async () => {
        if (await auth.isSetupNeeded()) await logSetupCode(logger, setupCode, stationCode);
        else await lost.forget();
      },
    });
  },
};

function openPasswords(
  opening: AsyncDisposableStack,
  { hasThreads, passwordHashes: hashes = createPasswordHashes() }: PeopleConfig,
  logger: BackendLogger,
): Passwords {
  if (!hasThreads) return createPasswords(hashes);
  const source = new URL('../passwords-thread.ts', import.meta.url);
  const program = (): string => findThreadProgram('station-passwords.mjs', source);
  const thread = opening.use(createAskedThread<PasswordQuestion, string | boolean>({ program, data: null, idleMs }));
  return createPasswords(threadedHashes({ thread, hashes, logger }));
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

import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { HttpServer } from '../http/server.ts';
import type { Database } from '../store/schema.ts';
import { createUserStore, type StationStore } from '../store/station-store.ts';
import { registerAuthRoutes, type SetupGate, setupGateOf } from './auth-routes.ts';
import { createAuthService } from './auth-service.ts';
import { createLoginLimiter } from './login-limiter.ts';
import { createMemberService } from './member-service.ts';
import { createPasswords } from './passwords.ts';
import { createSessions } from './sessions.ts';
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
  disk: Disk;
  logger: BackendLogger;
};

/** Accounts, sessions, members, and the set-up code. @returns what guards routes of a station without an owner. */
export async function registerPeopleRoutes(app: HttpServer, parts: PeopleParts): Promise<SetupGate> {
  const { db, station, dataDir, version, clock, trustedTime, disk, logger } = parts;
  const users = createUserStore(db);
  const sessions = createSessions({ db, key: parts.refreshKey, clock, trustedTime });
  const passwords = createPasswords();
  const { stationCode, setupSeed: seed } = parts;
  const setupCode = createSetupCode({ disk, path: join(dataDir, 'setup-code'), stationCode, seed });
  const people = { db, users, station, sessions, accessTokens: parts.accessTokens, passwords, clock };
  const auth = createAuthService({ ...people, setupCode, limiter: createLoginLimiter(clock), logger });
  await registerAuthRoutes(app, { auth, users, clock });
  await registerStationRoutes(app, { station, members: createMemberService(people), version });
  if (await auth.isSetupNeeded()) await logSetupCode(logger, setupCode, stationCode);
  return setupGateOf(auth);
}

/** A lasting code stays out of the log. */
async function logSetupCode(logger: BackendLogger, setupCode: SetupCode, stationCode: string | null): Promise<void> {
  const message =
    stationCode === null
      ? 'Open the web app and enter this code to become the owner of the station.'
      : 'Open the web app and enter the code of the station (`station-agent code`) to become its owner.';
  logger.event('setup_pending', { setupCode: stationCode === null ? await setupCode.read() : null, message });
}

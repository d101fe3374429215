import { join } from 'node:path';
import { createBoundedLog } from '../process-engine/bounded-log.ts';
import { startGuarded, type GuardedProcess } from '../process-engine/guard.ts';
import type { StationConfig } from './config.ts';
import type { Folders } from './folders.ts';
import type { Identity } from './identity.ts';

/** The agent in its own process, as on a real station. Its log is `agent.log` in the state folder. */
export type AgentProcess = AsyncDisposable & Pick<GuardedProcess, 'ended'> & { logFile: string };

const logBytes = 4 * 1024 * 1024;
/** The services of the agent have three seconds to end. */
const stopGraceMs = 4500;

export async function startAgentProcess(options: {
  config: StationConfig;
  folders: Folders;
  identity: Identity;
  releases: { manifestUrl: string; publicKey: string };
  backendPort: number;
  socketPath: string;
}): Promise<AgentProcess> {
  const { config, folders, identity, releases, backendPort, socketPath } = options;
  const logFile = join(folders.state, 'agent.log');
  const log = createBoundedLog(logFile, logBytes);
  const program = join(import.meta.dirname, 'agent-main.ts');
  const args = [program, folders.engine, ...(config.simulatesWifi ? ['wifi'] : [])];
  const child = await startGuarded(process.execPath, args, {
    cwd: folders.agent,
    graceMs: stopGraceMs,
    env: {
      PATH: config.path,
      HOME: config.home,
      STATION_ID: identity.stationId,
      UPDATE_SERVER_URL: releases.manifestUrl,
      UPDATE_PUBLIC_KEY: releases.publicKey,
      COMPOSE_PROJECT_PATH: folders.stack,
      DATA_DIR: folders.agent,
      FIRMWARE_CACHE_DIR: folders.firmware,
      AGENT_SOCKET: socketPath,
      AGENT_TOKEN: identity.agentToken,
      BACKEND_AGENT_TOKEN: identity.agentToken,
      PORT: '0',
      HEALTHCHECK_URL: `http://127.0.0.1:${backendPort}/api/health`,
      // Short, so that an update can be watched.
      STABILIZATION_SECONDS: '3',
      HEALTHCHECK_TIMEOUT_SECONDS: '60',
      CHECK_INTERVAL_MINUTES: '0.5',
      FIRMWARE_CHECK_INTERVAL_MINUTES: '0.5',
      BOOTSTRAP_ON_START: 'true',
      // A person starts updates with the button.
      AUTO_UPDATE: 'false',
      WIFI_WATCHDOG: config.simulatesWifi ? 'true' : 'false',
    },
  });
  child.stdout.on('data', log.write);
  child.stderr.on('data', log.write);
  return {
    ended: child.ended,
    logFile,
    [Symbol.asyncDispose]: async () => {
      await child.stop();
      log[Symbol.dispose]();
    },
  };
}

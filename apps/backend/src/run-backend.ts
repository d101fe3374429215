import { backendEvents } from '@station/protocol/backend-events';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { Environment } from '@station/kit/env-config';
import type { StorageFault } from '@station/protocol/rest';
import { runUntilSignal, Stopping } from '@station/kit/lifecycle';
import { createLogger, type BackendLogger, type LogLevel } from '@station/kit/logger';
import { useOutgoingProxy } from '@station/kit/outgoing-proxy';
import { describeError } from '@station/kit/station-error';
import { startQuietCollection } from './core/adapters/quiet-collection.ts';
import { type Backend, startBackend } from './backend.ts';
import { storageFaultOf } from './core/storage-faults.ts';
import { envToConfig, secretsOf } from './config.ts';
import { serveUntilStorageWorks } from './storage-wait.ts';

/** EX_CONFIG of sysexits.h. */
const exitConfigInvalid = 78;
const exitFailed = 1;
/** The container runtime kills the process after 10 s. The database is closed by then; if not, its file survives a kill. */
const stopDeadlineMs = 4_500;

/**
 * Reads the configuration and runs the backend until a signal ends it.
 * @returns the exit code of the process.
 */
export async function runBackend(env: Environment): Promise<number> {
  const result = envToConfig(env);
  if (result.ok) return run(result.config);
  openLogger('error', []).event('config_invalid', { problems: result.problems });
  return exitConfigInvalid;
}

async function run(config: Parameters<typeof secretsOf>[0]): Promise<number> {
  const logger = openLogger(config.logLevel, secretsOf(config));
  // The process ends anyway. The log line keeps the cause.
  process.on('uncaughtExceptionMonitor', (error, origin) => logger.failed(origin, error));
  useOutgoingProxy(config.proxy);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  await using _memory = startQuietCollection({ clock: systemClock });
  const host = { clock: systemClock, disk: nodeDisk, logger, random: Math.random, timeZone };
  try {
    return await runUntilSignal(async ({ signal, stop }) => {
      signal.addEventListener('abort', () => {
        const reason: unknown = signal.reason;
        logger.event('backend_stopping', { signal: reason instanceof Stopping ? reason.message : 'unknown' });
        setTimeout(() => process.exit(exitFailed), stopDeadlineMs).unref();
      });
      const hooks = {
        onDamage: () => stop(exitFailed),
        // The process manager restarts the backend; the station is unclaimed then.
        onReset: () => stop(0),
        onRestart: () => stop(0),
        hasThreads: true,
      };
      const backend = await startOnStorage(
        () => startBackend(config, host, hooks),
        (reason) => serveUntilStorageWorks(config, host, { reason, signal }),
      );
      logger.event('backend_started', {
        version: config.version,
        address: backend.url,
        startMs: Math.round(performance.now()),
      });
      return backend;
    });
  } catch (error) {
    logger.event('backend_start_failed', { message: describeError(error) });
    return exitFailed;
  }
}

/** A start that fails because nothing can be written is repeated when something can: meanwhile people are told why. */
async function startOnStorage(
  start: () => Promise<Backend>,
  waitForStorage: (reason: StorageFault) => Promise<void>,
): Promise<Backend> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      const reason = storageFaultOf(error);
      if (reason === null) throw error;
      await waitForStorage(reason);
    }
  }
}

function openLogger(level: LogLevel, secrets: readonly string[]): BackendLogger {
  const write = (line: string): void => void process.stdout.write(line);
  return createLogger({ catalogue: backendEvents, clock: systemClock, level, secrets, write });
}

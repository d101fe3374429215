import type { Clock } from '@station/kit/clock';
import { runCommand } from '@station/kit/command';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';

/** Notifications to the service manager. Nothing here throws or waits: the agent also works without one. */
export type ServiceManager = AsyncDisposable & {
  /** The agent is ready (`READY=1`); from here on it sends keep-alives. */
  ready(status: string): void;
  /** One line for `systemctl status` (`STATUS=…`). Of several in a row only the last is sent. */
  status(text: string): void;
  /** The agent ends on purpose (`STOPPING=1`). */
  stopping(): void;
};

export type ServiceManagerParts = {
  /** NOTIFY_SOCKET; null: nothing is sent. */
  notifySocket: string | null;
  /** Time without a keep-alive after which the agent is restarted; null: no watchdog. */
  watchdogMs: number | null;
  /** PATH on which `systemd-notify` is found. */
  path: string;
  clock: Clock;
  logger: AgentLogger;
  /** Whether the agent's work makes progress. Without progress no keep-alive is sent. */
  isAlive: () => boolean;
};

const program = 'systemd-notify';
const sendTimeoutMs = 20_000;

/**
 * Notifications to systemd (sd_notify(3)) through the program `systemd-notify`, because Node has no Unix datagram sockets; the unit
 * needs `NotifyAccess=all` for it. A program that is missing or fails is reported once, until it works again.
 */
export function createServiceManager(parts: ServiceManagerParts): ServiceManager {
  const { notifySocket, watchdogMs, clock, logger, isAlive } = parts;
  const ending = new AbortController();
  const failedOnce = createOnce((message: string) => logger.event('unexpected_error', { where: program, message }));
  const stalledOnce = createOnce((message: string) => logger.event('unexpected_error', { where: 'watchdog', message }));
  const env = { PATH: parts.path, NOTIFY_SOCKET: notifySocket ?? '' };
  let pendingStatus: string | null = null;
  let queue: Promise<void> = Promise.resolve();
  let watching: Promise<void> = Promise.resolve();

  const send = async (assignments: readonly string[]): Promise<void> => {
    if (notifySocket === null) return;
    try {
      await notify(assignments, env);
      failedOnce.reset();
    } catch (error) {
      failedOnce.log(describeError(error));
    }
  };
  /** Sent one after the other, so that they arrive in order. */
  const enqueue = (assignments: () => readonly string[]): void => {
    queue = queue.then(() => send(assignments()));
  };
  const watch = async (intervalMs: number): Promise<void> => {
    for (;;) {
      await clock.sleep(intervalMs, ending.signal).catch(() => undefined);
      if (ending.signal.aborted) return;
      if (isAlive()) {
        stalledOnce.reset();
        enqueue(() => ['WATCHDOG=1']);
      } else {
        stalledOnce.log('the agent makes no progress; the service manager is left to restart it');
      }
    }
  };

  return {
    ready: (status) => {
      enqueue(() => ['READY=1', statusLine(status)]);
      // Half the time, as sd_watchdog_enabled(3) recommends: one lost keep-alive does no harm.
      if (notifySocket !== null && watchdogMs !== null) watching = watch(watchdogMs / 2);
    },
    status: (text) => {
      const isQueued = pendingStatus !== null;
      pendingStatus = text;
      if (isQueued) return;
      enqueue(() => {
        const latest = pendingStatus ?? text;
        pendingStatus = null;
        return [statusLine(latest)];
      });
    },
    stopping: () => enqueue(() => ['STOPPING=1']),
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await watching;
      await queue;
    },
  };
}

async function notify(assignments: readonly string[], env: Record<string, string>): Promise<void> {
  const result = await runCommand(program, assignments, { env, abort: AbortSignal.timeout(sendTimeoutMs) });
  if (result.exitCode !== 0) throw new Error(`exit code ${result.exitCode}: ${result.stderr.trim()}`);
}

/** A line feed would begin another assignment. */
const statusLine = (text: string): string => `STATUS=${text.replace(/\s+/g, ' ').trim().slice(0, 200)}`;

/** Logs a message once until it is reset. */
function createOnce(log: (message: string) => void): { log: (message: string) => void; reset: () => void } {
  let isLogged = false;
  return {
    log: (message) => {
      if (!isLogged) log(message);
      isLogged = true;
    },
    reset: () => {
      isLogged = false;
    },
  };
}

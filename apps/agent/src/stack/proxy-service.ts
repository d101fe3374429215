import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { ProxyService } from '../core/stack-port.ts';
import type { StackEngine } from './stack-ports.ts';

export type ProxyServiceParts = {
  engine: StackEngine;
  /** Of the update flow: when nothing needs the proxy any more, and that it may go on. */
  stack: { untilProxyIsFree(signal: AbortSignal): Promise<void>; wake(): void };
  lock: Port80Lock;
  /** REVERSE_PROXY_SERVICE. */
  service: string;
  clock: Clock;
  logger: AgentLogger;
};

/** An engine that does not answer has no proxy running either: it is not waited for longer than this. */
const longestTryMs = 20_000;
const retryMs = 1000;

/** The stack's reverse proxy as the Wi-Fi watchdog needs it: away from port 80, and back. */
export function createProxyService(parts: ProxyServiceParts): ProxyService {
  const { engine, stack, lock, service, clock, logger } = parts;

  const set = async (running: boolean, signal: AbortSignal): Promise<boolean> => {
    const until = clock.monotonic() + longestTryMs;
    for (;;) {
      try {
        await engine.setRunning(service, running);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        if (clock.monotonic() >= until) {
          logger.event('engine_failed', { step: running ? 'start proxy' : 'stop proxy', detail: describeError(error) });
          return false;
        }
        await clock.sleep(retryMs, signal);
      }
    }
  };

  return {
    stop: async (signal) => {
      lock.take();
      await stack.untilProxyIsFree(signal);
      return (await set(false, signal)) ? 'stopped' : 'failed';
    },
    start: async (signal) => {
      lock.release();
      // What waited goes on now; it may bring up the whole stack, in which case the proxy comes with it.
      stack.wake();
      return (await set(true, signal)) ? 'started' : 'failed';
    },
  };
}

/** Who listens on port 80: the stack's reverse proxy or, while `isTaken`, the setup page of the hotspot. */
export type Port80Lock = {
  isTaken(): boolean;
  take(): void;
  release(): void;
};

export function createPort80Lock(): Port80Lock {
  let taken = false;
  return {
    isTaken: () => taken,
    take: () => {
      taken = true;
    },
    release: () => {
      taken = false;
    },
  };
}

const lookMs = 500;

/** @param parts.alive is called while it waits: waiting is no standstill. */
export async function untilFree(
  lock: Port80Lock,
  { clock, alive }: { clock: Clock; alive: () => void },
  signal: AbortSignal,
): Promise<void> {
  while (lock.isTaken()) {
    alive();
    await clock.sleep(lookMs, signal);
  }
}

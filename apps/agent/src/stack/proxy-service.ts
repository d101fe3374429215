import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { ProxyService } from '../core/stack-port.ts';
import type { StackEngine } from './stack-ports.ts';

export type ProxyServiceParts = {
  engine: StackEngine;
  /** The update flow: waits until no work needs the proxy, and wakes it afterwards. */
  stack: { untilProxyIsFree(signal: AbortSignal): Promise<void>; wake(): void };
  lock: Port80Lock;
  /** REVERSE_PROXY_SERVICE. */
  service: string;
  clock: Clock;
  logger: AgentLogger;
};

/** The longest wait for an engine call; an engine that does not answer runs no proxy either. */
const longestTryMs = 20_000;
const retryMs = 1000;

/** Stops the stack's reverse proxy while the Wi-Fi watchdog needs port 80, and starts it again. */
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
      // Blocked stack work continues now. It may bring up the whole stack, including the proxy.
      stack.wake();
      return (await set(true, signal)) ? 'started' : 'failed';
    },
  };
}

/** The owner of port 80: the stack's reverse proxy or, while `isTaken`, the setup page of the hotspot. */
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

/** @param parts.alive called while it waits: a waiting loop is not stuck. */
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

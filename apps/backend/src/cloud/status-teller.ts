import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { isoTime, type Clock } from '@station/kit/clock';
import type { CloudStatus } from '@station/protocol/cloud';
import type { SocketHub } from '../socket/hub.ts';

export type StatusTeller = Disposable & {
  /** Reads the status, and tells everyone at `/ws` if it is another one. */
  tell(): void;
  /** The same, told in any case: there is another code to claim the station, which the status does not hold. */
  tellAnew(): void;
  /** The same, soon: what changes many times a second is told a few times. */
  tellSoon(): void;
  /** Nothing waits for the cloud any more: told soon, if people believe that something does. */
  drained(): void;
};

const soonMs = 500;

/** @param latest as it is now; whoever comes to `/ws` is told the one that was read last. */
export function createStatusTeller(parts: {
  latest: CloudStatus;
  read(): Promise<CloudStatus>;
  hub: Pick<SocketHub, 'broadcast' | 'replay'>;
  run: ExclusiveRunner['run'];
  onFault(error: unknown): void;
  clock: Clock;
}): StatusTeller {
  let { latest } = parts;
  const message = () => ({ type: 'cloud_status', at: isoTime(parts.clock.now()), status: latest }) as const;
  const look = async (evenIfSame: boolean): Promise<void> => {
    const before = JSON.stringify(latest);
    latest = await parts.read();
    if (evenIfSame || JSON.stringify(latest) !== before) parts.hub.broadcast(message(), 'cloud_status');
  };
  const lookAndTell = (evenIfSame: boolean): void => void parts.run(() => look(evenIfSame)).catch(parts.onFault);
  const tell = (): void => lookAndTell(false);
  let soon: NodeJS.Timeout | undefined;
  const tellSoon = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      tell();
    }, soonMs).unref();
  };
  const replaying = parts.hub.replay(() => [message()]);
  return {
    tell,
    tellAnew: () => lookAndTell(true),
    tellSoon,
    drained: () => {
      if (latest.outbox.pending > 0) tellSoon();
    },
    [Symbol.dispose]: () => {
      clearTimeout(soon);
      replaying[Symbol.dispose]();
    },
  };
}

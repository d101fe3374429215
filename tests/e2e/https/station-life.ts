import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certificateMaker } from '@station/agent/tls/adapters/certificates';
import { createStationCertificates, type Server } from '@station/agent/tls/station-certificates';
import { type Clock, systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';

/** What the agent sees of its machine; a test changes it between two looks. */
export type Surroundings = {
  /** Milliseconds since the epoch. */
  now: number;
  isClockRight: boolean;
  addresses: string[];
  mdnsName: string | null;
};

/** The agent's part that keeps certificates, on a disk, with a clock that is told what year it is. */
export type StationLife = {
  folder: string;
  around: Surroundings;
  /** Events of the agent's log. */
  events: string[];
  /**
   * One run of the agent: `started` when it has looked before the stack starts; `looked` after each look and the restarts that it asked for, until
   * it returns false.
   */
  run(steps: { started: () => Promise<void>; looked: () => Promise<boolean> }): Promise<void>;
  /** The certificate of the authority, as a phone downloads it. */
  authority(): Promise<string>;
};

/** @param restart a server reads its certificate again. */
export function createStationLife(
  folder: string,
  around: Surroundings,
  restart: (server: Server) => Promise<void>,
): StationLife {
  const events: string[] = [];
  const write = (line: string): void => void events.push((JSON.parse(line) as { event: string }).event);
  return {
    folder,
    around,
    events,
    authority: () => readFile(join(folder, 'tls/https/ca.crt'), 'utf8'),
    run: async ({ started, looked }) => {
      const ending = new AbortController();
      const clock: Clock = {
        ...systemClock,
        now: () => around.now,
        sleep: async () => {
          if (await looked()) return;
          ending.abort(new Error('power off'));
          ending.signal.throwIfAborted();
        },
      };
      const certificates = createStationCertificates({
        mode: 'own',
        acme: null,
        folder: join(folder, 'tls'),
        dataDir: folder,
        authorityName: 'Station-ab12',
        host: 'station.local',
        maker: certificateMaker,
        addresses: () => around.addresses.map((address) => ({ interface: 'eth0', address })),
        mdnsName: async () => around.mdnsName,
        owners: null,
        restart,
        disk: nodeDisk,
        clock,
        isClockRight: async () => around.isClockRight,
        logger: createLogger({ catalogue, clock: systemClock, level: 'info', secrets: [], write }),
      });
      await certificates.renew();
      await started();
      await certificates.run(ending.signal).catch((error: unknown) => {
        if (!ending.signal.aborted) throw error;
      });
    },
  };
}

import { join } from 'node:path';
import { Type } from 'typebox';
import { type Clock, isoTime } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import { shareRun } from '@station/kit/shared-run';
import { StationError } from '@station/kit/station-error';
import type { ClockStatus } from '@station/protocol/agent-api';
import { type ClockTrust, decideClock, isReasonableTime } from './clock-decide.ts';
import type { SystemTime } from './clock-ports.ts';

export type HostClock = {
  /** Whether the clock of the machine is right. */
  status(): Promise<ClockStatus>;
  /** A person sets it. @throws (rejects) StationError `clock_not_set`. */
  set(now: number): Promise<ClockStatus>;
};

type Parts = {
  system: SystemTime;
  disk: Disk;
  dataDir: string;
  bootId: string;
  clock: Clock;
  logger: AgentLogger;
};

const KeptTrust = Type.Object({ bootId: Type.String(), source: Type.Enum(['ntp', 'person']), offsetMs: Type.Number() });
/** Rarely written, because an SD card wears out. */
const writeAfterMs = 10_000;
/** The clock shows what was set. */
const setWithinMs = 30_000;
/** Each setting stops and starts the service of NTP, which systemd gives up after five starts in ten seconds (systemd.unit(5), StartLimitBurst). */
const betweenSettingsMs = 10_000;

/** Knows whether the clock is right, also when the agent restarts (`clock.json`). */
export function createHostClock({ system, disk, dataDir, bootId, clock, logger }: Parts): HostClock {
  const file = createJsonFile({ disk, path: join(dataDir, 'clock.json'), schema: KeptTrust });
  const runner = createExclusiveRunner();
  let kept: ClockTrust | null | undefined;
  let written: ClockTrust | null = null;
  /** Monotonic. */
  let setMs = -Infinity;

  const readKept = async (): Promise<ClockTrust | null> => {
    if (kept !== undefined) return kept;
    const reading = await file.read();
    written = reading.kind === 'ok' ? reading.value : null;
    return written;
  };
  const keep = async (trust: ClockTrust | null): Promise<void> => {
    kept = trust;
    if (trust === null) return;
    const isSame = written?.bootId === trust.bootId && written.source === trust.source;
    if (isSame && Math.abs(written!.offsetMs - trust.offsetMs) < writeAfterMs) return;
    await file.write(trust);
    written = trust;
  };
  const offset = (): number => Math.round(clock.now() - system.uptimeMs());
  const look = async (): Promise<ClockStatus> => {
    const isNtpSynchronized = await system.isNtpSynchronized();
    const trust = decideClock({ bootId, offsetMs: offset(), isNtpSynchronized, kept: await readKept() });
    await keep(trust);
    const source = trust?.source ?? (isNtpSynchronized === null ? 'unknown' : 'none');
    return { trusted: trust !== null, source, now: isoTime(clock.now()) };
  };
  return {
    status: shareRun(() => runner.run(look)),
    set: (now) =>
      runner.run(async () => {
        if (!isReasonableTime(now))
          throw new StationError('bad_request', 'The time must be of the years 2026 to 2055.');
        if (clock.monotonic() - setMs < betweenSettingsMs)
          throw new StationError('clock_not_set', 'The clock was set a moment ago. Try again in ten seconds.');
        const before = clock.now();
        const startedMs = clock.monotonic();
        try {
          await system.set(now);
        } catch (error) {
          throw new StationError('clock_not_set', 'The system did not set the clock.', { cause: error });
        } finally {
          setMs = clock.monotonic();
        }
        const wanted = now + clock.monotonic() - startedMs;
        if (Math.abs(clock.now() - wanted) > setWithinMs) {
          throw new StationError('clock_not_set', 'Something set the clock to another time again.');
        }
        logger.event('clock_set', { before: isoTime(before), now: isoTime(clock.now()) });
        await keep({ bootId, source: 'person', offsetMs: offset() }).catch((error: unknown) =>
          logger.failed('clock.json', error),
        );
        return look();
      }),
  };
}

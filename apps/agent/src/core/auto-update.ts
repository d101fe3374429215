import { join } from 'node:path';
import { Type } from 'typebox';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createEmitter } from '@station/kit/emitter';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import { damagedAfterTries } from './damaged-after-tries.ts';

/** Whether updates are installed automatically: the choice of a person, else AUTO_UPDATE (ADR 85). */
export type AutoUpdate = {
  isOn(): boolean;
  /** Null: nobody chose. */
  choice(): boolean | null;
  /**
   * @param choice null: it is taken back.
   * Resolved means on disk and in force. @throws (rejects) StationError `disk_space_low`; the old choice then stays.
   */
  choose(choice: boolean | null): Promise<void>;
  /** Calls `listener` after each choice. */
  onChange(listener: () => void): Disposable;
};

type Parts = {
  disk: Disk;
  dataDir: string;
  /** AUTO_UPDATE. */
  configured: boolean;
  logger: AgentLogger;
};

export const autoUpdateFile = 'auto-update.json';
const Stored = Type.Object({ autoUpdate: Type.Union([Type.Boolean(), Type.Null()]) });

/** Reads the choice; without a usable file nobody chose. */
export async function openAutoUpdate({ disk, dataDir, configured, logger }: Parts): Promise<AutoUpdate> {
  const file = createJsonFile({ disk, path: join(dataDir, autoUpdateFile), schema: Stored });
  const runner = createExclusiveRunner();
  const changes = createEmitter<void>();
  const reading = await readPatiently(damagedAfterTries(file.read));
  if (reading.kind === 'damaged') logger.event('state_repaired', { file: autoUpdateFile, reason: reading.reason });
  let choice = reading.kind === 'ok' ? reading.value.autoUpdate : null;
  const isOn = (): boolean => choice ?? configured;
  return {
    isOn,
    choice: () => choice,
    choose: (wanted) =>
      runner.run(async () => {
        if (wanted === choice) return;
        try {
          await file.write({ autoUpdate: wanted });
        } catch (error) {
          const message =
            'The agent cannot write its state: the disk is full or cannot be written. Nothing was changed.';
          throw new StationError('disk_space_low', message, { cause: error });
        }
        choice = wanted;
        logger.event('auto_update_changed', { choice, autoUpdate: isOn() });
        changes.emit();
      }),
    onChange: changes.subscribe,
  };
}

/** @param read gives up by itself. */
async function readPatiently<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    const reading = await read().catch(() => null);
    if (reading !== null) return reading;
  }
}

import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { shareRun } from '@station/kit/shared-run';
import type { DoctorReport } from '@station/protocol/doctor';
import { findBackendProgram, runInProcess } from '../core/adapters/job-process.ts';
import { inspectSqliteFile } from './adapters/sqlite-inspection.ts';
import { type DoctorConfig, examineBackend } from './doctor.ts';

/** Runs in a process of its own: reading a whole database would stop the backend for as long. */
export type DoctorJob = { work: 'examine'; config: DoctorConfig };
type DoctorOutcome = { report: DoctorReport; rows: Record<string, number> };

/** A database up to this size is read within seconds, also from an SD card. */
export const quickBytes = 256 * 1024 * 1024;
const longestMs = 90_000;

export async function runDoctorJob({ config }: DoctorJob): Promise<DoctorOutcome> {
  const parts = { config, clock: systemClock, disk: nodeDisk, mostBytes: quickBytes };
  const report = await examineBackend(parts);
  if (config.database.kind === 'postgres') return { report, rows: {} };
  const counted = inspectSqliteFile(config.database.file, { mostBytes: quickBytes, countRows: true });
  return { report, rows: counted.kind === 'good' ? counted.rows : {} };
}

/** Examines in another process, at most once at a time: who asks meanwhile gets the same report. */
export function createExaminer(config: DoctorConfig, closing: AbortSignal): () => Promise<DoctorOutcome> {
  const examine = async (): Promise<DoctorOutcome> => {
    const job: DoctorJob = { work: 'examine', config };
    const signal = AbortSignal.any([closing, AbortSignal.timeout(longestMs)]);
    return runInProcess<never, DoctorOutcome>(job, {
      program: findBackendProgram(),
      onProgress: () => undefined,
      signal,
    });
  };
  return shareRun(examine);
}

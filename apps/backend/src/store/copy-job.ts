import { findBackendProgram, runInProcess } from '../core/adapters/job-process.ts';
import { takeSnapshot } from '../core/adapters/database-snapshot.ts';
import { writeCompressed } from '../core/adapters/zstd.ts';

/** Copies a database into a compressed file. */
export type CopyJob = { work: 'copy'; database: string; to: string };
/** `code`: of the system's error. */
type CopyOutcome = { kind: 'done' } | { kind: 'failed'; message: string; code?: string };
type JobOptions = { onProgress: (doneBytes: number) => void; signal: AbortSignal };

/** A card that takes nothing for so long; the check of a large database says nothing meanwhile. */
const mostSilenceMs = 30 * 60_000;

/**
 * Copies the database, which others use meanwhile, in a process of its own: the locks of SQLite belong to a process
 * (`core/adapters/database-snapshot.ts`). Resolved means that every page was checked, and that the copy is on disk.
 * @param to a new file, compressed by Zstandard. It is not complete when this rejects.
 */
export async function copyDatabase(database: string, to: string, signal: AbortSignal): Promise<void> {
  const job: CopyJob = { work: 'copy', database, to };
  const outcome = await runInProcess<number, CopyOutcome>(job, {
    program: findBackendProgram(),
    onProgress: () => undefined,
    signal,
    mostSilenceMs: () => mostSilenceMs,
  });
  if (outcome.kind === 'done') return;
  const { message, code } = outcome;
  throw Object.assign(new Error(message), code === undefined ? {} : { code });
}

/** The process's side. Never rejects. */
export async function runCopyJob(job: CopyJob, options: JobOptions): Promise<CopyOutcome> {
  try {
    const damage = await copyHere(job, options);
    return damage === null ? { kind: 'done' } : { kind: 'failed', message: `The database is damaged: ${damage}` };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? { code: String(error.code) } : {};
    return { kind: 'failed', message: String(error), ...code };
  }
}

/** @returns the damage of the database; null: there is none. */
async function copyHere({ database, to }: CopyJob, { onProgress, signal }: JobOptions): Promise<string | null> {
  const snapshot = await takeSnapshot(database, {}, signal);
  if (!('facts' in snapshot)) return snapshot.damage;
  await using held = snapshot;
  async function* content(): AsyncGenerator<Buffer> {
    let doneBytes = 0;
    for await (const chunk of held.read()) {
      yield chunk;
      doneBytes += chunk.length;
      onProgress(doneBytes);
    }
  }
  await writeCompressed(to, content(), signal);
  return await held.damage;
}

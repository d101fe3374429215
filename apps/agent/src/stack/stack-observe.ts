import type { Journal } from './journal.ts';
import { wantedImages } from './operation-decide.ts';
import type { StackEngine } from './stack-ports.ts';
import type { Facts } from './stack-facts.ts';
import type { StepContext } from './stack-steps.ts';
import { findStaleFiles } from './state-files.ts';

/** Reads everything that a decision needs. */
export async function observe(context: StepContext, bringUpDue: boolean): Promise<Facts> {
  const { engine, disk, dataDir, bootId, gate, keeper } = context;
  const { run } = keeper;
  const journal = keeper.journal();
  const isIdle = journal.operation === null;
  const readsImages = isIdle || journal.operation?.phase === 'preparing';
  return {
    bootId,
    gate,
    journal,
    bringUpDue,
    journalInDoubt: run.journalInDoubt,
    presentImages: readsImages ? await presentImages(engine, journal) : [],
    pinnedImages: isIdle ? await engine.pinnedImages() : [],
    staleFiles: await findStaleFiles(disk, dataDir, journal),
    watch: run.watch,
    attempts: run.attempts,
  };
}

async function presentImages(engine: StackEngine, journal: Journal): Promise<string[]> {
  const ids = [...wantedImages(journal), ...Object.keys(journal.retired)];
  const found = await Promise.all(ids.map((id) => engine.imageId(id)));
  return ids.filter((_, index) => found[index] !== null);
}

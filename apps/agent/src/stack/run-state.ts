import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/files';
import type { AgentLogger } from '@station/kit/logger';
import type { ProbeAnswer, Restarts } from './health-decide.ts';
import type { Journal } from './journal.ts';
import type { Attempts, HealthGate, Watch } from './stack-facts.ts';
import type { StackEngine } from './ports.ts';
import type { ProgressMeter } from './progress.ts';

/** What the update engine is given. */
export type UpdaterParts = {
  engine: StackEngine;
  disk: Disk;
  dataDir: string;
  clock: Clock;
  logger: AgentLogger;
  /** One request to the health check address; never throws. */
  probe: (signal: AbortSignal) => Promise<ProbeAnswer>;
  bootId: string;
  gate: HealthGate;
  keepReleases: number;
  newId: () => string;
};

/** What one process knows beyond the journal; a new process starts without it. */
export type RunState = {
  journal: Journal | null;
  journalInDoubt: boolean;
  attempts: Attempts;
  watch: Watch | null;
  baseline: Restarts;
  meter: ProgressMeter;
  /** Monotonic start of the operation, when this process began it. */
  startedMs: number | null;
  /** When a container of the stack was first stopped for the operation, and when health was first seen again; epoch ms. */
  stoppedAtMs: number | null;
  healthyAtMs: number | null;
};

export const noAttempts = (): Attempts => ({
  space: null,
  pull: null,
  up: null,
  healed: false,
  tidied: { hold: [], release_hold: [], remove_images: [] },
});

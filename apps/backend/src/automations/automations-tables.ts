import type { RunMode, RunReason, RunStatus, RunStep } from '@station/protocol/automations';

declare module '../store/schema.ts' {
  interface Schema {
    automations: AutomationsTable;
    automation_runs: AutomationRunsTable;
    automation_steps: AutomationStepsTable;
  }
}

export type AutomationsTable = {
  id: string;
  name: string;
  mode: RunMode;
  /** JSON of the flow as the editor saved it. */
  flow: string;
  /** The triggers and flow that run; null in a draft. */
  published_mode: RunMode | null;
  published_flow: string | null;
  revision: number;
  created_at: number;
  updated_at: number;
  published_at: number | null;
};

export type AutomationRunsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  automation_id: string;
  status: RunStatus;
  reason: RunReason | null;
  /** The cause, unique for each automation: two processes that see the same cause start only one run. */
  cause: string;
  /** JSON of `RunTrigger`. */
  trigger: string;
  /** JSON of the flow at the start of the run, which is used to its end; empty when the run never started. */
  flow: string;
  /** The process that executes it while it is `running`, and the time by which that process must renew its claim. */
  owner: string | null;
  lease_until: number | null;
  /** End of the current delay of a `waiting` run. */
  wake_at: number | null;
  started_at: number;
  ended_at: number | null;
};

/** A node of a run, stored when it starts. */
export type AutomationStepsTable = {
  run_id: string;
  node_id: string;
  /** Order in which the nodes started. */
  position: number;
  kind: string;
  status: RunStep['status'];
  started_at: number;
  ended_at: number | null;
  due_at: number | null;
  late_ms: number | null;
  /** For people; never a secret. */
  detail: string | null;
  /** JSON of `StepSeen`; null: nothing was seen. */
  seen: string | null;
};

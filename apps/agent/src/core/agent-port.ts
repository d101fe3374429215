import type { CheckResult, ClockStatus, Status, Version, WifiStatus } from '@station/protocol/agent-api';
import type { AgentBackup, AgentRestored } from '@station/protocol/agent-backup';
import type { DoctorReport } from '@station/protocol/doctor';
import type { Static } from 'typebox';
import type { StartAnswer } from './stack-port.ts';

/** What the HTTP API needs from the agent. Expected outcomes are values; only unexpected errors are thrown. */
export type AgentPort = {
  status(): Promise<Status>;
  version(): Static<typeof Version>;
  wifiStatus(): WifiStatus;
  /** Whether the clock of the machine is right. */
  clock(): Promise<ClockStatus>;
  /** A person sets the clock, milliseconds since the epoch. @throws (rejects) StationError `clock_not_set`. */
  setClock(now: number): Promise<ClockStatus>;
  /** Starts an update to `version`, or to the latest release when null. */
  update(version: string | null): Promise<StartAnswer>;
  rollback(): Promise<StartAnswer>;
  /** Checks the station; changes nothing. */
  doctor(): Promise<DoctorReport>;
  /** The last log lines of the agent, oldest first. */
  log(): Promise<string[]>;
  /** Polls both manifests now. */
  check(): Promise<Static<typeof CheckResult>>;
  /** The agent's part of a backup, with its secrets. */
  readBackup(): Promise<AgentBackup>;
  restoreBackup(backup: AgentBackup): Promise<AgentRestored>;
};

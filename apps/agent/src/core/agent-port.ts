import type {
  AutoUpdateResult,
  CheckResult,
  ClockStatus,
  HotspotLogin,
  Status,
  Version,
  WifiStatus,
} from '@station/protocol/agent-api';
import type { AgentBackup, AgentRestored } from '@station/protocol/agent-backup';
import type { Machine } from '@station/protocol/agent-machine';
import type { JoinBlocker, NetworkState } from '@station/protocol/agent-network';
import type { DoctorReport } from '@station/protocol/doctor';
import type { Static } from 'typebox';
import type { OpenLog } from './operator-ports.ts';
import type { RestartAnswer, StartAnswer } from './stack-port.ts';
import type { JoinRequest } from './wifi-network.ts';

/** What the HTTP API needs from the agent. Expected outcomes are values; only unexpected errors are thrown. */
export type AgentPort = {
  status(): Promise<Status>;
  version(): Static<typeof Version>;
  wifiStatus(): WifiStatus;
  /** Name and password of the setup hotspot. */
  hotspot(): HotspotLogin;
  /** Whether the clock of the machine is right. */
  clock(): Promise<ClockStatus>;
  /** A person sets the clock, milliseconds since the epoch. @throws (rejects) StationError `clock_not_set`. */
  setClock(now: number): Promise<ClockStatus>;
  /**
   * Starts an update to `version`, or to the latest release when null.
   * @param options.isPrompt answers within two seconds, though the update server be slow: with an operation that looks for the release.
   */
  update(version: string | null, options?: { isPrompt: boolean }): Promise<StartAnswer>;
  /** @param options.isPrompt answers within two seconds, though a check of the update server be under way: with an operation that waits for it. */
  rollback(options?: { isPrompt: boolean }): Promise<StartAnswer>;
  /**
   * A person says whether updates are installed automatically; null takes the choice back.
   * @throws (rejects) StationError `disk_space_low`; nothing is changed then.
   */
  chooseAutoUpdate(choice: boolean | null): Promise<AutoUpdateResult>;
  /** Checks the station; changes nothing. */
  doctor(): Promise<DoctorReport>;
  /** The last log lines of the agent, oldest first. */
  log(): Promise<string[]>;
  /** Load, disks, temperature and the like, read now. */
  machine(): Promise<Machine>;
  /** Restarts the machine after the answer. */
  restartMachine(): Promise<RestartAnswer>;
  /** Restarts a service of the stack after the answer. @throws (rejects) StationError `not_found`. */
  restartService(service: string): Promise<RestartAnswer>;
  /** The network, for the web app. */
  network(): Promise<NetworkState>;
  /** Scans, then answers as `network`. */
  scanNetwork(): Promise<NetworkState>;
  joinNetwork(request: JoinRequest): 'accepted' | JoinBlocker;
  openLog: OpenLog;
  /** Polls both manifests now. */
  check(): Promise<Static<typeof CheckResult>>;
  /** The agent's part of a backup, with its secrets. */
  readBackup(): Promise<AgentBackup>;
  restoreBackup(backup: AgentBackup): Promise<AgentRestored>;
};

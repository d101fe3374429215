import type { RolloutState, TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';

declare module '../store/schema.ts' {
  interface Schema {
    firmware_images: FirmwareImagesTable;
    firmware_rollouts: FirmwareRolloutsTable;
    firmware_targets: FirmwareTargetsTable;
  }
}

/** Complete files that the proxy serves, as reported by the agent. */
export type FirmwareImagesTable = {
  /** Name of the firmware: the device type, or `<chip>-<type>`. */
  type: string;
  version: string;
  /** Name in the agent's cache. */
  file: string;
  /** Path at which the reverse proxy serves it; null: the name below FIRMWARE_FOLDER. */
  path: string | null;
  /** `sha256:` and 64 hex digits. */
  checksum: string;
  size: number;
  /** Chip it is built for, e.g. `esp32s3`; null when unknown. */
  chip: string | null;
  /** The oldest version that can take it. */
  min_version: string | null;
  /** 1: its rollout waits until a person approves it; else null. */
  needs_approval: number | null;
  ready_at: number;
};

export type FirmwareRolloutsTable = {
  id: string;
  /** Name of the firmware, as in `firmware_images`. */
  type: string;
  version: string;
  state: RolloutState;
  /** JSON of RolloutSettings. */
  settings: string;
  wave: number;
  reason: string | null;
  /** Null when the station started it automatically. */
  requested_by: string | null;
  created_at: number;
  ended_at: number | null;
};

/** One row a device of a rollout; the columns are those of Target. */
export type FirmwareTargetsTable = {
  rollout_id: string;
  device_id: string;
  state: TargetState;
  phase: TargetPhase | null;
  percent: number | null;
  wave: number | null;
  failures: number;
  interruptions: number;
  handshakes: number;
  reason: string | null;
  not_before: number;
  started_at: number | null;
  changed_at: number;
};

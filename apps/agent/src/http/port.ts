import type { CheckResult, HistoryEntry, Status, Version, WifiStatus } from '@station/protocol/agent-api';
import type { ErrorCode } from '@station/protocol/errors';
import type { Static } from 'typebox';

/** What the HTTP API needs of the agent. Expected outcomes are values; only surprises are thrown. */
export type AgentPort = {
  status(): Promise<Status>;
  version(): Static<typeof Version>;
  wifiStatus(): WifiStatus;
  /** Starts an update to `version`, or to the latest release when null. */
  update(version: string | null): Promise<StartAnswer>;
  rollback(): Promise<StartAnswer>;
  /** Polls both manifests now. */
  check(): Promise<Static<typeof CheckResult>>;
};

export type StartAnswer =
  | {
      kind: 'started';
      operationId: string;
      /** Resolves when the operation has ended; null when the agent stopped first. */ ended: Promise<HistoryEntry | null>;
    }
  | { kind: 'already_current'; version: string | null }
  | { kind: 'refused'; code: ErrorCode; message: string };

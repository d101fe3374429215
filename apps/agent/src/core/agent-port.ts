import type { CheckResult, Status, Version, WifiStatus } from '@station/protocol/agent-api';
import type { Static } from 'typebox';
import type { StartAnswer } from './stack-port.ts';

/** What the HTTP API needs from the agent. Expected outcomes are values; only unexpected errors are thrown. */
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

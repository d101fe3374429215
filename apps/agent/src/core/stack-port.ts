import type { HistoryEntry } from '@station/protocol/agent-api';
import type { ErrorCode } from '@station/protocol/errors';

/** The immediate answer to a request to update or roll back. */
export type StartAnswer =
  | {
      kind: 'started';
      operationId: string;
      /** Resolves when the operation has ended; null when the agent stopped first. */
      ended: Promise<HistoryEntry | null>;
    }
  | { kind: 'already_current'; version: string | null }
  | { kind: 'refused'; code: ErrorCode; message: string };

/** The immediate answer to a request to restart a service, or the machine. */
export type RestartAnswer = { kind: 'started' } | Extract<StartAnswer, { kind: 'refused' }>;

/** The stack's reverse proxy: stopped while the hotspot's setup page uses port 80. */
export type ProxyService = {
  /** Waits for stack work that needs the proxy, blocks new such work, and stops the service. Takes a few minutes at most. */
  stop(signal: AbortSignal): Promise<'stopped' | 'failed'>;
  /** Unblocks stack work and starts the service, unless the stack must not run. */
  start(signal: AbortSignal): Promise<'started' | 'failed'>;
};

import type { HistoryEntry } from '@station/protocol/agent-api';
import type { ErrorCode } from '@station/protocol/errors';

/** What a request to update or roll back is answered at once. */
export type StartAnswer =
  | {
      kind: 'started';
      operationId: string;
      /** Resolves when the operation has ended; null when the agent stopped first. */
      ended: Promise<HistoryEntry | null>;
    }
  | { kind: 'already_current'; version: string | null }
  | { kind: 'refused'; code: ErrorCode; message: string };

/** The stack's reverse proxy: away from port 80 while the hotspot's setup page uses it. */
export type ProxyService = {
  /** Waits for stack work that needs the proxy, keeps new such work from starting, and stops the service. At most some minutes. */
  stop(signal: AbortSignal): Promise<'stopped' | 'failed'>;
  /** Lets stack work go on and starts the service, unless the stack is not meant to run. */
  start(signal: AbortSignal): Promise<'started' | 'failed'>;
};

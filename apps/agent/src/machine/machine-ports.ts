import type { Machine } from '@station/protocol/agent-machine';

export type MachineFacts = Omit<Machine, 'canRestart'>;

export type MachinePower = {
  /** Whether this machine lets the agent restart it. Never throws. */
  canRestart(): Promise<boolean>;
  /** Begins the restart: all services are stopped regularly. @throws (rejects) the system's error when it is refused. */
  restart(): Promise<void>;
};

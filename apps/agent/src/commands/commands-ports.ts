import type { CheckResult, Status } from '@station/protocol/agent-api';
import type { Static } from 'typebox';

/** What became of the wish for an update or a rollback: an operation that runs, or nothing to do. */
export type Begun = { kind: 'started'; operationId: string } | { kind: 'already_current'; version: string | null };

/** The agent that runs on this machine, for the commands of a person. Each call throws {@link AgentSilent} or {@link AgentRefusal}. */
export type RunningAgent = {
  status(): Promise<Status>;
  /** Asks the update server for releases and firmware; that may take a minute. */
  check(): Promise<Static<typeof CheckResult>>;
  /** To this version, or to the latest release when null. */
  update(version: string | null): Promise<Begun>;
  rollback(): Promise<Begun>;
};

/** The agent does not answer. The message says why. */
export class AgentSilent extends Error {
  override readonly name = 'AgentSilent';
}

/** The agent has refused. The message is for people. */
export class AgentRefusal extends Error {
  override readonly name = 'AgentRefusal';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

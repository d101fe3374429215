import { type Clock, systemClock } from '@station/kit/clock';
import { plainJson, plainText } from '@station/protocol/plain-text';
import { clearLine, progressBar } from '@station/kit/progress-bar';
import type { HistoryEntry, Operation } from '@station/protocol/agent-api';
import { AgentRefusal, AgentSilent, type Begun, type RunningAgent } from './commands-ports.ts';
import { checkText, endText, isSuccess, operationText, statusText } from './command-texts.ts';

export type CommandName = 'status' | 'check' | 'update' | 'rollback';

export type CommandParts = {
  agent: RunningAgent;
  clock?: Pick<Clock, 'monotonic' | 'sleep'>;
  out: { isTTY?: boolean; write(text: string): unknown };
  /** Faults, in words. */
  errors: { write(text: string): unknown };
  /** Objects for programs, one a line, in place of words. */
  isJson: boolean;
};

/** Exit code when the agent does not answer (sysexits.h, EX_UNAVAILABLE). */
const exitUnavailable = 69;
const exitFailed = 1;

/**
 * Runs what a person asks of the agent at the machine.
 * @param version for `update`: null is the latest release.
 * @returns the exit code: 0 it is so, 1 it failed or was refused, 69 the agent does not answer.
 */
export async function askRunningAgent(name: CommandName, version: string | null, parts: CommandParts): Promise<number> {
  const { agent, errors } = parts;
  try {
    switch (name) {
      case 'status':
        return await showStatus(parts);
      case 'check':
        return await checkNow(parts);
      case 'update':
        return await change(parts, () => agent.update(version));
      case 'rollback':
        return await change(parts, () => agent.rollback());
    }
  } catch (error) {
    if (error instanceof AgentSilent) {
      errors.write(`station-agent: ${plainText(error.message)}; see: systemctl status station-agent\n`);
      return exitUnavailable;
    }
    if (!(error instanceof AgentRefusal)) throw error;
    errors.write(`station-agent: ${plainText(`${error.message} (${error.code})`)}\n`);
    return exitFailed;
  }
}

const json = (value: object): string => `${plainJson(JSON.stringify(value))}\n`;

async function showStatus({ agent, out, isJson }: CommandParts): Promise<number> {
  const status = await agent.status();
  out.write(isJson ? json(status) : statusText(status));
  return 0;
}

async function checkNow({ agent, out, isJson }: CommandParts): Promise<number> {
  if (!isJson) out.write('Asking the update server …\n');
  const result = await agent.check();
  out.write(isJson ? json(result) : checkText(result, await agent.status()));
  return result.release.ok && result.firmware.ok ? 0 : exitFailed;
}

async function change(parts: CommandParts, begin: () => Promise<Begun>): Promise<number> {
  const { out, isJson } = parts;
  const begun = await begin();
  if (begun.kind === 'already_current') return sayCurrent(parts, begun.version);
  const entry = await follow(begun.operationId, parts);
  // The update server was slow, so the agent knew it only later (ADR 73).
  if (entry.code === 'already_current') return sayCurrent(parts, entry.from);
  out.write(isJson ? json(entry) : `${plainText(endText(entry))}\n`);
  return isSuccess(entry) ? 0 : exitFailed;
}

function sayCurrent({ out, isJson }: CommandParts, version: string | null): number {
  out.write(isJson ? json({ result: 'already_current', version }) : `${version ?? 'The release'} runs already.\n`);
  return 0;
}

const lookEveryMs = 500;
/** The agent may restart meanwhile; it goes on with the operation. */
const patienceMs = 120_000;

/** Shows an operation until it has ended. @throws AgentSilent when the agent is gone for long, or knows nothing of it. */
async function follow(operationId: string, parts: CommandParts): Promise<HistoryEntry> {
  const { agent, clock = systemClock } = parts;
  const progress = createProgress(parts);
  let seenMs = clock.monotonic();
  try {
    for (;;) {
      const status = await agent.status().catch((error: unknown) => {
        if (clock.monotonic() - seenMs > patienceMs) throw error;
        return null;
      });
      const ended = status?.history.find(({ id }) => id === operationId);
      if (ended !== undefined) return ended;
      if (status?.operation?.id === operationId) {
        seenMs = clock.monotonic();
        progress.show(status.operation);
      } else if (clock.monotonic() - seenMs > patienceMs) {
        throw new AgentSilent(`the agent knows nothing of the operation ${operationId} any more`);
      }
      await clock.sleep(lookEveryMs);
    }
  } finally {
    progress.end();
  }
}

/** A line that is redrawn on a terminal; for a file a line for each phase; for programs an object for each change. */
function createProgress({ out, isJson }: CommandParts): { show(operation: Operation): void; end(): void } {
  const isRedrawn = out.isTTY === true && !isJson;
  let shown = '';
  return {
    show: (operation) => {
      const { percent } = operation.progress;
      const text = plainText(operationText(operation));
      const bar = percent === null ? '' : `${progressBar(percent)} `;
      const line = isJson ? json({ operation }) : isRedrawn ? `${clearLine}${bar}${text}` : `${text}\n`;
      const key = isJson || isRedrawn ? line : operation.phase;
      if (key !== shown) out.write(line);
      shown = key;
    },
    end: () => void (isRedrawn && shown !== '' && out.write(clearLine)),
  };
}

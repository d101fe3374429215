import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import type { StartAnswer } from '../core/stack-port.ts';
import { refusals } from './blockers.ts';
import type { Journal } from './journal.ts';
import type { OperationRequest } from './journal-keeper.ts';
import { rollbackTarget } from './operation-decide.ts';
import {
  chooseManual,
  findKept,
  nothingToRollBack,
  refused,
  refusedCheck,
  refusedVersion,
  releaseOf,
  requestedVersion,
  type Refusal,
} from './release-decide.ts';
import type { ReleaseCheck } from './release-source.ts';
import { check, type Flow, pinned, settleAndReport, signalOf } from './update-flow.ts';

// Requests of people and of the web app.

/** Runs one request at a time, and none while an operation is under way. */
export async function request<Answer>(flow: Flow, answer: () => Promise<Answer>): Promise<Answer | Refusal> {
  const { keeper, blockers, lock, state, waker } = flow;
  await untilFirstRead(flow);
  if (state.signal?.aborted) return refused('shutting_down', 'The agent is stopping.');
  if (state.starting || keeper.operation()) return busy;
  // The loop is waiting until the fault is over; a request would wait behind it.
  const refusal = findRefusal(flow);
  if (refusal) return refused(refusal.code, refusal.message);
  if (lock.isTaken()) return refused('unavailable', 'The hotspot is on: the station has no network now.');
  state.starting = true;
  try {
    return await answer();
  } catch (error) {
    if (!blockers.note(error)) throw error;
    // The loop finishes the interrupted operation when the fault is over; until then requests are refused at once.
    waker.wake();
    const { code, message } = findRefusal(flow) ?? tryAgain;
    return refused(code, message);
  } finally {
    state.starting = false;
  }
}

const busy = refused('update_in_progress', 'An update or a rollback is under way.');
const tryAgain = { code: 'internal', message: 'The operation could not be started. Try again.' } as const;
const stillStarting = { code: 'unavailable', message: 'The agent is still starting. Try again in a minute.' } as const;

/** How long a request waits for the first read of the journal: an engine may answer slowly. */
const longestFirstReadMs = 10_000;

/** Right after the agent's start a request waits until the journal was read or the read has failed. */
async function untilFirstRead({ keeper, blockers, firstRead, clock }: Flow): Promise<void> {
  if (keeper.isLoaded() || blockers.current() !== null) return;
  const wasRead = new AbortController();
  void firstRead.promise.then(() => wasRead.abort());
  await clock.sleep(longestFirstReadMs, wasRead.signal).catch(() => undefined);
}

/** Why requests must be refused now; null when they can be accepted. */
function findRefusal({ keeper, blockers }: Flow): Pick<Refusal, 'code' | 'message'> | null {
  const blocker = blockers.current();
  if (blocker !== null) return refusals[blocker];
  return keeper.isLoaded() ? null : stillStarting;
}

/** @param id of the operation, when there will be one. */
export async function update(flow: Flow, text: string | null, id = flow.newId()): Promise<StartAnswer> {
  const version = requestedVersion(text);
  if (version === undefined) return refused('version_invalid', 'The version is not SemVer 2.0.0.');
  const { keeper, runner, poll } = flow;
  if (version !== null && version === keeper.journal().installed?.version) return { kind: 'already_current', version };
  const kept = version === null ? null : findKept(keeper.journal(), version);
  const manualUpdate = (to: Release): OperationRequest => ({ kind: 'update', trigger: 'manual', to, id });
  if (kept) return start(flow, () => manualUpdate(kept));
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  const manifest = answer.kind === 'ok' ? answer.manifest : version === null ? null : poll.latest();
  if (!manifest) return refusedCheck(answer);
  const choose = (journal: Journal) => chooseManual(manifest, { journal, isSigned: flow.source.isSigned }, version);
  const choice = choose(keeper.journal());
  if (choice.kind === 'find') return updateToSigned(flow, choice.version, manualUpdate);
  return start(flow, (journal) => {
    const chosen = choose(journal);
    switch (chosen.kind) {
      case 'install':
        return manualUpdate(chosen.release);
      case 'current':
        return { kind: 'already_current', version: chosen.version };
      case 'refused':
        return chosen;
      case 'find':
        throw new Error('a version is looked up before the runner’s turn');
    }
  });
}

/** To a version that is neither the latest one nor on this machine: by its own signed manifest. */
async function updateToSigned(
  flow: Flow,
  version: string,
  manualUpdate: (to: Release) => OperationRequest,
): Promise<StartAnswer> {
  const { runner, source } = flow;
  const own = await runner.run(() => source.find(version, signalOf(flow)));
  if (own.kind !== 'ok') return refusedVersion(version, own);
  return start(flow, () => manualUpdate(releaseOf(version, own.manifest.images)));
}

export async function rollback(flow: Flow, id = flow.newId()): Promise<StartAnswer> {
  return start(flow, (journal) => {
    const target = rollbackTarget(journal);
    return target ? { id, kind: 'rollback', trigger: 'manual', to: target.release } : nothingToRollBack(journal);
  });
}

type NotStarted = Exclude<StartAnswer, { kind: 'started' }>;

/**
 * Resolves once the operation is in the journal, not when it has ended.
 * @param choose decides from the journal inside the runner's turn: an operation that ran until then may have changed it.
 */
function start(flow: Flow, choose: (journal: Journal) => OperationRequest | NotStarted): Promise<StartAnswer> {
  const { keeper, runner, waiters } = flow;
  const signal = signalOf(flow);
  return new Promise((resolve, reject) => {
    const job = async (): Promise<void> => {
      const wanted = choose(keeper.journal());
      if (!('to' in wanted)) return resolve(wanted);
      const begun = await keeper.begin(await pinned(flow, wanted));
      if (!begun) return resolve(busy);
      const ended = new Promise<HistoryEntry | null>((resolveEnd) => waiters.set(begun.id, resolveEnd));
      resolve({ kind: 'started', operationId: begun.id, ended });
      await settleAndReport(flow, signal);
    };
    void runner.run(() => job().catch((error: unknown) => (signal.aborted ? undefined : reject(error as Error))));
  });
}

export async function checkNow(flow: Flow): Promise<ReleaseCheck> {
  const { runner, state, waker } = flow;
  await untilFirstRead(flow);
  const refusal = findRefusal(flow);
  if (refusal) return { kind: 'unavailable', reason: refusal.message };
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  state.installDueMs = -Infinity;
  waker.wake();
  return answer;
}

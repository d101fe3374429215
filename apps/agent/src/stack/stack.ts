import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import type { Operation } from '@station/protocol/agent-api';
import type { ServiceOperator } from '../core/operator-ports.ts';
import type { StartAnswer } from '../core/stack-port.ts';
import { createAskedOperation } from './asked-operation.ts';
import { createBlockers } from './blockers.ts';
import type { JournalKeeper } from './journal-keeper.ts';
import { createReleasePoll, firstRetryMs } from './release-poll.ts';
import { createProbation } from './probation.ts';
import type { ReleaseCheck } from './release-source.ts';
import { createRequestedRestart, type RequestedRestart } from './requested-restart.ts';
import { createStackConditions } from './stack-conditions.ts';
import { createStackStatus, type StackStatus } from './stack-status.ts';
import { checkNow, request, rollback, update } from './stack-requests.ts';
import { run, reportEnd, type Flow, type StackParts } from './update-flow.ts';

/** The stack of this station, as the rest of the agent uses it. */
export type Stack = StackStatus & {
  /** Recovers, then polls for releases and keeps the stack up, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** @param options.isPrompt answers within two seconds, though the update server be slow. */
  update(version: string | null, options?: { isPrompt: boolean }): Promise<StartAnswer>;
  rollback(options?: { isPrompt: boolean }): Promise<StartAnswer>;
  /** Restarts one service for a person. */
  restart: RequestedRestart['restart'];
  check(): Promise<ReleaseCheck>;
  /** Makes the loop check now whether something is due. */
  wake(): void;
  /** The operation under way; null: none. */
  operation(): Operation | null;
  /** Calls `listener` when the operation may have changed. */
  onChange(listener: () => void): Disposable;
  /** Resolves once no stack work needs the reverse proxy, after five minutes at the latest. */
  untilProxyIsFree(signal: AbortSignal): Promise<void>;
  /** True while a release is being fetched from the registry. */
  isFetching(): boolean;
  /** Monotonic time of the last sign of progress. */
  lastAliveMs(): number;
  alive(): void;
};

/** Builds the stack feature. How an update runs is in `update-flow.ts`, what people ask for in `stack-requests.ts`. */
export function createStack(parts: StackParts, operator: ServiceOperator | null = null): Stack {
  const flow = createFlow(parts);
  const { poll, state, keeper, waker } = flow;
  keeper.onEnd(() => reportEnd(flow));
  const restarts = createRequestedRestart(flow, operator);
  const asked = createAskedOperation({ ...parts, keeper, runner: flow.runner });
  const operation = (): Operation | null => keeper.operation() ?? asked.operation();
  const onChange: Stack['onChange'] = (listener) => {
    const both = [keeper.onChange(listener), asked.onChange(listener)];
    return { [Symbol.dispose]: () => both.forEach((one) => one[Symbol.dispose]()) };
  };
  return {
    run: (signal) => run(flow, signal),
    update: (text, { isPrompt } = { isPrompt: false }) =>
      isPrompt
        ? asked.begin({ kind: 'update', version: text }, (id) => request(flow, () => update(flow, text, id)))
        : request(flow, () => update(flow, text)),
    rollback: ({ isPrompt } = { isPrompt: false }) =>
      isPrompt
        ? asked.begin({ kind: 'rollback', version: null }, (id) => request(flow, () => rollback(flow, id)))
        : request(flow, () => rollback(flow)),
    restart: restarts.restart,
    check: () => checkNow(flow),
    wake: waker.wake,
    operation,
    onChange,
    untilProxyIsFree: (signal) => untilProxyIsFree(flow, signal),
    isFetching: () => isFetching(keeper),
    lastAliveMs: () => state.aliveMs,
    alive: flow.alive,
    ...createStackStatus({
      keeper: { ...keeper, operation },
      engine: parts.engine,
      poll,
      lastError: flow.stackConditions.lastError,
      lastRestart: restarts.last,
    }),
  };
}

function createFlow(parts: StackParts): Flow {
  const { clock, random, checkIntervalMs } = parts;
  const retry = (initialMs: number, maxMs: number) => createBackoff({ initialMs, maxMs, jitter: 0.2, random });
  const stackConditions = createStackConditions(parts);
  const state: Flow['state'] = {
    signal: null,
    starting: false,
    isStart: true,
    foundAtStart: null,
    installDueMs: -Infinity,
    bringUpDueMs: -Infinity,
    checkDueMs: -Infinity,
    aliveMs: clock.monotonic(),
  };
  const alive = (): void => {
    state.aliveMs = clock.monotonic();
  };
  return {
    ...parts,
    alive,
    stackConditions,
    probation: createProbation({ ...parts, stackConditions }),
    state,
    blockers: createBlockers({ ...parts, fail: stackConditions.fail, alive }),
    poll: createReleasePoll(parts),
    runner: createExclusiveRunner(),
    waker: createWaker(clock),
    installRetry: retry(firstRetryMs, Math.max(firstRetryMs, checkIntervalMs)),
    bringUpRetry: retry(5000, 5 * 60_000),
    waiters: new Map(),
    firstRead: Promise.withResolvers(),
  };
}

/** Enough for a bring-up with its health gate and the rollback from it; work that takes longer is stuck. */
const longestProxyUseMs = 5 * 60_000;
const proxyPollMs = 250;

async function untilProxyIsFree(flow: Flow, signal: AbortSignal): Promise<void> {
  const { clock, runner, blockers, keeper } = flow;
  const until = clock.monotonic() + longestProxyUseMs;
  let idle = false;
  void runner.run(async () => {
    idle = true;
  });
  // With a blocker nothing uses the proxy, with one exception: a health gate goes on while the disk cannot be written.
  const isFree = (): boolean => {
    const isJudging = keeper.operation() !== null && !isFetching(keeper);
    const blocker = blockers.current();
    if (blocker === 'state_not_writable') return idle || !isJudging;
    return idle || blocker !== null || isFetching(keeper);
  };
  while (!isFree() && clock.monotonic() < until) await clock.sleep(proxyPollMs, signal);
}

const isFetching = (keeper: JournalKeeper): boolean =>
  ['preparing', 'pulling'].includes(keeper.operation()?.phase ?? '');

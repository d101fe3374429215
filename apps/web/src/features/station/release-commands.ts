import type { Accepted, AutoUpdateResult, CheckResult, Status } from '@station/protocol/agent-api';
import type { AnswerOf } from '@station/protocol/routes';
import { type Command, useCommand } from '../../api/command.ts';
import { statusKey } from '../../api/station.ts';

/** Longer than the backend waits for the agent, which waits for the release server. */
const checkTimeoutMs = 75_000;

/** Asks the release server now. */
export const useCheck = (): Command<CheckResult> =>
  useCommand((session) => session.call('POST /api/system/check', { timeoutMs: checkTimeoutMs }), { reads: statusKey });

/** Starts an update; without a version, to the latest. Resolves once it has started and the status shows it. */
export const useUpdate = (): Command<AnswerOf<'POST /api/system/update'>, { version?: string }> =>
  useCommand((session, body) => session.call('POST /api/system/update', { body }), { reads: statusKey });

/** Whether updates are installed automatically. Shown once the agent has kept it. */
export const useAutoUpdate = (): Command<AutoUpdateResult, boolean> =>
  useCommand((session, autoUpdate) => session.call('PUT /api/system/auto-update', { body: { autoUpdate } }), {
    reads: statusKey,
    keep: (queries, kept) => queries.setQueryData<Status>(statusKey, (status) => status && { ...status, ...kept }),
  });

/** Starts a rollback to the previous release. */
export const useRollback = (): Command<Accepted> =>
  useCommand((session) => session.call('POST /api/system/rollback'), { reads: statusKey });

/** Whether this person may change the station at all, and whether it can be done at this moment. */
export type Manage = { allowed: boolean; possible: boolean };

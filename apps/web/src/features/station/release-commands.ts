import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import type { Accepted, CheckResult } from '@station/protocol/agent-api';
import type { AnswerOf } from '@station/protocol/routes';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { statusKey } from '../../api/station.ts';

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

/** Longer than the backend waits for the agent, which waits for the release server. */
const checkTimeoutMs = 75_000;

/** Asks the release server now. */
export function useCheck(): Command<CheckResult> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST /api/system/check', { timeoutMs: checkTimeoutMs }),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}

/** Starts an update; without a version, to the latest. Resolves once it has started and the status shows it. */
export function useUpdate(): Command<AnswerOf<'POST /api/system/update'>, { version?: string }> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (request) => session.call('POST /api/system/update', { body: request }),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}

/** Starts a rollback to the previous release. */
export function useRollback(): Command<Accepted> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST /api/system/rollback'),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}

/** Whether this person may change the station at all, and whether it can be done at this moment. */
export type Manage = { allowed: boolean; possible: boolean };

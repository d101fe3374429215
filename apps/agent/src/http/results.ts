import { errorCodes, type ErrorCode } from '@station/protocol/errors';
import type { HistoryEntry, RollbackResult, UpdateResult } from '@station/protocol/agent-api';
import { StationError } from '@station/kit/station-error';
import type { Static } from 'typebox';

/** The answer to POST /update, once the operation has ended. Throws what did not work as a StationError. */
export function updateResult(entry: HistoryEntry): Static<typeof UpdateResult> {
  if (entry.result === 'updated') return { result: 'updated', ...outcome(entry) };
  if (entry.result === 'rolled_back')
    throw failure('update_rolled_back', 'The release did not work; the one before it runs again.', entry);
  throw failure(failureCode(entry, 'update_failed'), 'The release was not installed.', entry);
}

/** The answer to POST /rollback, once the operation has ended. Throws what did not work as a StationError. */
export function rollbackResult(entry: HistoryEntry): Static<typeof RollbackResult> {
  // With a reason, the release to go back to did not work, and the one left for it runs again.
  if (entry.result === 'rolled_back' && entry.reason === null) return { result: 'rolled_back', ...outcome(entry) };
  throw failure(failureCode(entry, 'rollback_failed'), 'Going back did not work.', entry);
}

const outcome = ({ from, to, durationMs, downtimeMs }: HistoryEntry) => ({ from, to, durationMs, downtimeMs });

/** The reason's own code where it is one that clients know. */
function failureCode({ code, result }: HistoryEntry, otherwise: ErrorCode): ErrorCode {
  return result === 'failed' && code && Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : otherwise;
}

function failure(code: ErrorCode, message: string, { from, to, reason }: HistoryEntry): StationError {
  const told = reason === null ? message : `${message} (${reason})`;
  return new StationError(code, told, { details: { from, to, reason } });
}

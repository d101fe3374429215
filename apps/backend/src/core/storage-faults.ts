import { StationError } from '@station/kit/station-error';
import type { StorageFault } from '@station/protocol/rest';
import { ownValue } from '@station/protocol/own-value';

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const sqliteFaults: Readonly<Record<number, StorageFault>> = {
  5: 'locked',
  6: 'locked',
  8: 'read-only',
  10: 'input/output error',
  11: 'damaged',
  13: 'disk full',
  14: 'input/output error',
  26: 'damaged',
};
/** SQLITE_IOERR_SHMSIZE: the file of shared memory cannot grow, which happens on a full disk only. */
const sqliteSharedMemorySize = 4874;

/** Codes of PostgreSQL (appendix A) and of the system (errno). */
const namedFaults: Readonly<Record<string, StorageFault>> = {
  '53100': 'disk full',
  '53300': 'unreachable',
  '55P03': 'locked',
  '25006': 'read-only',
  '58030': 'input/output error',
  '57P01': 'unreachable',
  '57P02': 'unreachable',
  '57P03': 'unreachable',
  '57P05': 'unreachable',
  XX001: 'damaged',
  XX002: 'damaged',
  ENOSPC: 'disk full',
  EDQUOT: 'disk full',
  EROFS: 'read-only',
  EIO: 'input/output error',
  // A disk that was pulled out, a share that is mounted anew, and a file system that needs a check.
  ENODEV: 'input/output error',
  ENXIO: 'input/output error',
  ESTALE: 'input/output error',
  EUCLEAN: 'input/output error',
};
/** Connection exceptions of PostgreSQL. */
const connectionFault = /^08...$/;
/** Errors of the connection to the database; elsewhere the same codes say nothing about storage. */
const unreachableCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];

/** Why a write failed, by the error's code and that of its causes; null: the storage is not the reason. */
export function storageFaultOf(error: unknown): StorageFault | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const fault = ownFaultOf(at);
    if (fault !== null) return fault;
  }
  return null;
}

/** As {@link storageFaultOf}, of an error that a database query threw. */
export function databaseFaultOf(error: unknown): StorageFault | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return storageFaultOf(error) ?? (unreachableCodes.includes(code) ? 'unreachable' : null);
}

function ownFaultOf(error: Error): StorageFault | null {
  if ('errcode' in error && typeof error.errcode === 'number') {
    if (error.errcode === sqliteSharedMemorySize) return 'disk full';
    // The low byte is the primary code; the rest makes it an extended one.
    return sqliteFaults[error.errcode & 0xff] ?? null;
  }
  if (!('code' in error) || typeof error.code !== 'string') return null;
  return ownValue(namedFaults, error.code) ?? (connectionFault.test(error.code) ? 'unreachable' : null);
}

/** What a request that failed for such a reason is answered; null: the storage is not the reason. */
export function storageError(error: unknown): StationError | null {
  if (error instanceof StationError) return null;
  const fault = storageFaultOf(error);
  return fault === null ? null : errorOfFault(fault, error);
}

export function errorOfFault(fault: StorageFault, cause?: unknown): StationError {
  const options = { cause };
  switch (fault) {
    case 'disk full':
      return new StationError(
        'storage_full',
        'The disk of the station is full. Free some space, then try again.',
        options,
      );
    case 'locked':
      return new StationError(
        'storage_locked',
        'Another program has locked the database of the station. Save or close what is open in it, then try again.',
        options,
      );
    case 'unreachable':
      return new StationError('unavailable', 'The database does not answer now.', options);
    case 'read-only':
    case 'input/output error':
    case 'damaged':
    case 'no answer':
      return new StationError('storage_unwritable', `The station cannot write to its storage (${fault}).`, options);
  }
}

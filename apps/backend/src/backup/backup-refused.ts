import { describeError } from '@station/kit/station-error';
import { type BackupRefusal, backupRefusals } from '@station/protocol/backups';
import type { BackupOutcome } from './backup-job.ts';

/** Something was not done with a backup, for a reason that people can do something about. */
export class BackupRefused extends Error {
  readonly reason: BackupRefusal;

  constructor(reason: BackupRefusal, cause?: unknown) {
    super(backupRefusals[reason], cause === undefined ? undefined : { cause });
    this.name = 'BackupRefused';
    this.reason = reason;
  }
}

/** @param cause for the log. */
export const refusedFor = (reason: BackupRefusal, cause?: unknown): BackupOutcome => ({
  kind: 'refused',
  reason,
  message: backupRefusals[reason],
  cause: cause === undefined ? null : describeError(cause),
});

import type { LegacyMessage } from '@station/protocol/cloud-messages';
import type { Log } from '../log.ts';
import type { ActivityRecord } from './activity.ts';
import type { Identity, IdentityMessage, IdentityResult } from './identity.ts';
import type { StationReset } from './station-reset.ts';

/** Does what a plain message of the cloud asks for. To be called with one after another. */
export function createObedience(parts: {
  identity: Identity;
  reset: StationReset;
  /** Tokens of this user no longer tell the truth. */
  revoke(userId: string): void;
  /** Sends a plain message. */
  say(message: object): void;
  onReset(): void;
  record: Pick<ActivityRecord, 'note'>;
  log: Log;
}): (message: LegacyMessage) => Promise<void> {
  const { identity, reset, record, log } = parts;
  const applied = async (message: IdentityMessage): Promise<IdentityResult> => {
    try {
      return await identity.apply(message);
    } catch (error) {
      record.note(message.type, 'failed');
      throw error;
    }
  };
  return async (message) => {
    if (message.type === 'station_reset') {
      await reset.begin();
      parts.say({ type: 'station_reset_ack' });
      await reset.finish();
      return parts.onReset();
    }
    const result = await applied(message);
    record.note(message.type, result.kind === 'applied' ? 'done' : 'refused');
    if (result.kind === 'applied') result.revoked.forEach(parts.revoke);
    else log.event('cloud_identity_refused', { type: message.type, reason: result.reason });
  };
}

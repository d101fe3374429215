import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import type { BackendLogger } from '@station/kit/logger';
import type { ActivityRecord } from './activity.ts';
import type { Identity, IdentityMessage, IdentityResult } from './identity.ts';
import type { StationReset } from './station-reset.ts';

/**
 * Does what a plain message of the cloud asks for, one after another. Once a reset has begun the station is nobody's: the cloud, which may not
 * have got the acknowledgement, gets it again, and nothing else that it says has an effect.
 * @param isOurs asked when its turn has come: the owner may have ended the link to that cloud, or another backend have taken it over.
 */
export function createObedience(parts: {
  identity: Identity;
  reset: StationReset;
  /** Tokens of this user no longer tell the truth. */
  revoke(userId: string): void;
  /** Sends a plain message. */
  say(message: object): void;
  onReset(): void;
  run: ExclusiveRunner['run'];
  record: Pick<ActivityRecord, 'note'>;
  logger: BackendLogger;
}): (message: LegacyMessage, isOurs: () => boolean) => Promise<void> {
  const { identity, reset, record, logger } = parts;
  let isReset = false;
  const acknowledgeReset = (): void => parts.say({ type: 'station_reset_ack' });
  const applied = async (message: IdentityMessage): Promise<IdentityResult> => {
    try {
      return await identity.apply(message);
    } catch (error) {
      record.note(message.type, 'failed');
      throw error;
    }
  };
  const resetOnce = async (): Promise<void> => {
    if (isReset) return acknowledgeReset();
    await reset.begin();
    isReset = true;
    try {
      acknowledgeReset();
      await reset.finish();
    } catch (error) {
      isReset = false;
      throw error;
    }
    parts.onReset();
  };
  const obey = async (message: LegacyMessage): Promise<void> => {
    if (message.type === 'station_reset') return resetOnce();
    if (isReset) return;
    const result = await applied(message);
    record.note(message.type, result.kind === 'applied' ? 'done' : 'refused');
    if (result.kind === 'applied') result.revoked.forEach(parts.revoke);
    else logger.event('cloud_identity_refused', { type: message.type, reason: result.reason });
  };
  return async (message, isOurs) => {
    // Not after the devices were told, which may take seconds.
    if (isReset && message.type === 'station_reset') return acknowledgeReset();
    return parts.run(async () => {
      if (isOurs()) await obey(message);
    });
  };
}

import type { LegacyMessage } from '@station/protocol/cloud-messages';
import type { Log } from '../log.ts';
import type { Identity } from './identity.ts';
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
  log: Log;
}): (message: LegacyMessage) => Promise<void> {
  const { identity, reset, log } = parts;
  return async (message) => {
    if (message.type === 'station_reset') {
      await reset.begin();
      parts.say({ type: 'station_reset_ack' });
      await reset.finish();
      return parts.onReset();
    }
    const result = await identity.apply(message);
    if (result.kind === 'applied') result.revoked.forEach(parts.revoke);
    else log.event('cloud_identity_refused', { type: message.type, reason: result.reason });
  };
}

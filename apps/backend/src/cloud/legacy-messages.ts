import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import type { BackendLogger } from '@station/kit/logger';
import type { PublishCommand } from '../core/commands.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { ActivityRecord } from './activity.ts';
import type { CloudConfigStore } from './cloud-config-store.ts';
import type { Identity, IdentityMessage, IdentityResult } from './identity.ts';

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

type StationReset = {
  /** On disk from here on: whatever ends the backend, the reset goes on at its next start. */
  begin(): Promise<void>;
  /** Tells every device to forget the station, and forgets the cloud. */
  finish(): Promise<void>;
};

/** Contracts, section 12: how long devices are waited for. */
const patienceMs = 10_000;
const retryMs = 500;
/** A device that is away now gets it when it comes back, if the broker keeps its session. */
const keptForMs = 7 * 24 * 60 * 60 * 1000;

/** station_reset (specification, "Cloud legacy messages"). The broker may be down: then the devices are not told, and the rest is done. */
export function createStationReset(parts: {
  config: Pick<CloudConfigStore, 'beginReset' | 'wipe'>;
  /** Tokens of this user no longer tell the truth. */
  revoke(userId: string): void;
  devices: Pick<DeviceStore, 'list'>;
  publish: PublishCommand;
  clock: Clock;
  logger: BackendLogger;
}): StationReset {
  const { config, devices, publish, clock, logger } = parts;

  const tell = async (externalId: string, patience: AbortSignal): Promise<boolean> => {
    const command = { action: 'factory_reset', commandId: randomUUID() };
    while (!patience.aborted) {
      try {
        await publish(externalId, command, keptForMs);
        return true;
      } catch {
        await clock.sleep(retryMs, patience).catch(() => undefined);
      }
    }
    return false;
  };

  return {
    begin: config.beginReset,
    finish: async () => {
      const all = await devices.list();
      logger.event('cloud_station_reset', { phase: 'begun', devices: all.length, reached: 0 });
      const patience = new AbortController();
      let reached = 0;
      const telling = all.map(async ({ external_id: externalId }) => {
        if (await tell(externalId, patience.signal)) reached += 1;
      });
      const waiting = clock.sleep(patienceMs, patience.signal).catch(() => undefined);
      await Promise.race([Promise.all(telling), waiting]);
      patience.abort();
      (await config.wipe()).forEach(parts.revoke);
      logger.event('cloud_station_reset', { phase: 'done', devices: all.length, reached });
    },
  };
}

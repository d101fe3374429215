import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { constantBackoff, retry } from '@station/kit/retry';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import type { BackendLogger } from '@station/kit/logger';
import type { PublishCommand } from '../core/commands.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { ActivityRecord } from './activity.ts';
import type { CloudConfigStore } from './cloud-config-store.ts';
import type { Identity, IdentityMessage, IdentityResult } from './identity.ts';

/** Applies one message. @param isOurs checked before it is applied: the link may have ended or moved to another backend. */
export type ApplyLegacy = (message: LegacyMessage, isOurs: () => boolean) => Promise<void>;

/**
 * Applies the legacy messages of the cloud, one after another. After a reset has begun, the station is unclaimed: a repeated reset is
 * acknowledged again, because the first acknowledgement may be lost, and all other messages have no effect.
 */
export function createLegacyMessages(parts: {
  identity: Identity;
  reset: StationReset;
  /** The tokens of this user are revoked. */
  revoke(userId: string): void;
  /** Sends a plain message. */
  send(message: object): void;
  onReset(): void;
  run: ExclusiveRunner['run'];
  record: Pick<ActivityRecord, 'note'>;
  logger: BackendLogger;
}): ApplyLegacy {
  const { identity, reset, record, logger } = parts;
  let isReset = false;
  const acknowledgeReset = (): void => parts.send({ type: 'station_reset_ack' });
  const applyIdentity = async (message: IdentityMessage): Promise<IdentityResult> => {
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
  const apply = async (message: LegacyMessage): Promise<void> => {
    if (message.type === 'station_reset') return resetOnce();
    if (isReset) return;
    const result = await applyIdentity(message);
    record.note(message.type, result.kind === 'applied' ? 'done' : 'refused');
    if (result.kind === 'applied') result.revoked.forEach(parts.revoke);
    else logger.event('cloud_identity_refused', { type: message.type, reason: result.reason });
  };
  return async (message, isOurs) => {
    // Sent immediately: commands to the devices may take seconds.
    if (isReset && message.type === 'station_reset') return acknowledgeReset();
    return parts.run(async () => {
      if (isOurs()) await apply(message);
    });
  };
}

export type StationReset = {
  /** Stores the reset: if the backend stops, the next start continues it. */
  begin(): Promise<void>;
  /** Sends `factory_reset` to every device, and deletes the data of the cloud. */
  finish(): Promise<void>;
};

/** How long the broker may take to acknowledge (contracts, section 12). */
const patienceMs = 10_000;
const retryMs = 500;
/** An offline device receives it later, if the broker keeps its session. */
const keptForMs = 7 * 24 * 60 * 60 * 1000;

/** station_reset (specification, "Cloud legacy messages"). If the broker is offline, the devices get no command; the rest is done. */
export function createStationReset(parts: {
  config: Pick<CloudConfigStore, 'beginReset' | 'wipe'>;
  /** The tokens of this user are revoked. */
  revoke(userId: string): void;
  devices: Pick<DeviceStore, 'list'>;
  publish: PublishCommand;
  clock: Clock;
  logger: BackendLogger;
}): StationReset {
  const { config, devices, publish, clock, logger } = parts;

  const send = (externalId: string, patience: AbortSignal): Promise<boolean> => {
    const command = { action: 'factory_reset', commandId: randomUUID() };
    const parts = { clock, signal: patience, backoff: constantBackoff(retryMs), onFailure: () => undefined };
    return retry(() => publish(externalId, command, keptForMs), parts).then(
      () => true,
      () => false,
    );
  };

  return {
    begin: config.beginReset,
    finish: async () => {
      // Devices of gateways have nothing to reset.
      const all = (await devices.list()).filter(({ gateway_id: gatewayId }) => gatewayId === null);
      logger.event('cloud_station_reset', { phase: 'begun', devices: all.length, reached: 0 });
      const patience = new AbortController();
      let reached = 0;
      const sending = all.map(async ({ external_id: externalId }) => {
        if (await send(externalId, patience.signal)) reached += 1;
      });
      const waiting = clock.sleep(patienceMs, patience.signal).catch(() => undefined);
      await Promise.race([Promise.all(sending), waiting]);
      patience.abort();
      (await config.wipe()).forEach(parts.revoke);
      logger.event('cloud_station_reset', { phase: 'done', devices: all.length, reached });
    },
  };
}

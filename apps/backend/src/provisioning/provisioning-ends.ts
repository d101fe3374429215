import type { Clock } from '@station/kit/clock';
import type { Handshake } from '@station/protocol/device-messages';
import type { Provisioning, ProvisioningError } from '@station/protocol/provisioning';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import { acceptDevice } from '../store/device-store.ts';
import type { DatabaseTransaction } from '../store/schema.ts';
import type { ProvisioningsTable } from './provisioning-tables.ts';
import type { ProvisioningStep } from './provisioning-decide.ts';

export type ProvisioningRow = ProvisioningsTable;
export type EndStep = Extract<ProvisioningStep, { kind: 'end' }>;

/** How it ended. `isRevoked`: the broker must remove the login that was made. */
export type Ended = { row: ProvisioningRow; isRevoked: boolean };

export const openStatuses = ['queued', 'writing', 'waiting'] as const;
/** How long, and how many, are kept after their end. */
export const keptMs = 24 * 60 * 60_000;
export const maxKept = 200;

/** Ends it, and the login that was made for a device that the station does not have. Null: it had ended. */
export async function endProvisioning(
  transaction: DatabaseTransaction,
  id: string,
  { status, error }: EndStep,
  parts: { clock: Clock; trustedTime?: TrustedTime; isBrokerExternal: boolean },
): Promise<Ended | null> {
  const { clock, trustedTime = alwaysTrusted, isBrokerExternal } = parts;
  const now = clock.now();
  const before = await transaction.selectFrom('provisionings').selectAll().where('id', '=', id).executeTakeFirst();
  if (before === undefined) return null;
  const { external_id: externalId } = before;
  const query = transaction.selectFrom('devices').select(['id', 'zone_id']).where('external_id', '=', externalId);
  const device = await query.executeTakeFirst();
  const deviceId = status === 'succeeded' ? (device?.id ?? null) : null;
  const end = { status, error, device_id: deviceId, changed_at: now };
  const row = await close(transaction, id, end, trustedTime.areAgesTrue() ? now - keptMs : 0);
  if (row === null) return null;
  if (deviceId !== null) await nameDevice(transaction, row, deviceId);
  const isRevoked = before.token_hash !== null && before.had_device === 0 && device === undefined;
  if (isRevoked && isBrokerExternal) {
    await transaction.insertInto('removed_logins').values({ device_id: id, external_id: externalId }).execute();
  }
  return { row, isRevoked };
}

async function close(
  transaction: DatabaseTransaction,
  id: string,
  set: {
    status: Provisioning['status'];
    error: ProvisioningError | null;
    device_id: string | null;
    changed_at: number;
  },
  keptSince: number,
): Promise<ProvisioningRow | null> {
  const closing = transaction
    .updateTable('provisionings')
    .set({ ...set, ends_at: null, login_at: null, secrets: null })
    .where('id', '=', id)
    .where('status', 'in', openStatuses);
  const row = await closing.returningAll().executeTakeFirst();
  if (row === undefined) return null;
  await forgetTokens(transaction, row);
  const ended = transaction.selectFrom('provisionings').select('id').where('status', 'not in', openStatuses);
  const [oldest] = await ended.orderBy('id', 'desc').offset(maxKept).limit(1).execute();
  await transaction
    .deleteFrom('provisionings')
    .where('status', 'not in', openStatuses)
    .where((where) => where.or([where('changed_at', '<', keptSince), where('id', '<=', oldest?.id ?? '')]))
    .execute();
  return row;
}

/**
 * A write may have reached a device although it failed. If the station has the device, it would be locked out for good: so such a token stays
 * valid until the device is added again, or the row goes.
 */
async function forgetTokens(transaction: DatabaseTransaction, row: ProvisioningRow): Promise<void> {
  const mayBeKnown = row.status !== 'succeeded' && row.method === 'ble' && row.had_device === 1;
  const forgetting = transaction.updateTable('provisionings').set({ token_hash: null });
  if (row.status === 'succeeded') {
    await forgetting.where('external_id', '=', row.external_id).execute();
  } else if (!mayBeKnown) {
    await forgetting.where('id', '=', row.id).execute();
  }
}

/** A device that the station had keeps its name and zone, unless others were given. */
async function nameDevice(transaction: DatabaseTransaction, row: ProvisioningRow, deviceId: string): Promise<void> {
  const set = {
    ...(row.name_given === 1 ? { name: row.name } : {}),
    ...(row.zone_given === 1 ? { zone_id: await zoneOf(transaction, row) } : {}),
  };
  if (Object.keys(set).length === 0) return;
  await transaction.updateTable('devices').set(set).where('id', '=', deviceId).execute();
}

/** The zone may have been removed meanwhile. */
async function zoneOf(transaction: DatabaseTransaction, { zone_id: id }: ProvisioningRow): Promise<string | null> {
  if (id === null) return null;
  const zone = await transaction.selectFrom('zones').select('id').where('id', '=', id).executeTakeFirst();
  return zone?.id ?? null;
}

/** Adds a device that the station did not have, with its handshake. Null: it has ended, or no such handshake is expected. */
export async function addExpected(
  transaction: DatabaseTransaction,
  id: string,
  { type, firmwareVersion, chip }: Handshake,
  now: number,
): Promise<ProvisioningRow | null> {
  const found = await transaction.selectFrom('provisionings').selectAll().where('id', '=', id).executeTakeFirst();
  const isExpected = found !== undefined && found.status !== 'queued' && found.login_at !== null;
  if (!isExpected) return null;
  const { external_id: externalId, name, token_hash: tokenHash } = found;
  const end = { status: 'succeeded', error: null, device_id: null, changed_at: now } as const;
  // What is old goes with the next end that is no success.
  if ((await close(transaction, id, end, 0)) === null) return null;
  const zoneId = await zoneOf(transaction, found);
  const device = { externalId, type, name, zoneId, firmwareVersion, chip, tokenHash };
  const deviceId = await acceptDevice(transaction, device, now);
  const updating = transaction.updateTable('provisionings').set({ device_id: deviceId, device_type: type });
  return updating.where('id', '=', id).returningAll().executeTakeFirstOrThrow();
}

import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { WifiDeviceState } from '@station/protocol/devices-wifi';
import { isOwnDevice } from '../store/device-store.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { WifiChangesTable } from './provisioning-tables.ts';
import type { SecretBox } from '../store/secret-box.ts';
import type { WifiTarget } from './wifi-change-decide.ts';

export type Network = { ssid: string; password: string };
export type WifiChangeRow = WifiChangesTable;
export type WifiTargetRow = WifiTarget & { externalId: string; reason: string | null; changedAt: number };

/** The latest change of the devices' Wi-Fi. Its password is encrypted, and forgotten when the change ends. */
export type WifiChangeStore = ReturnType<typeof createWifiChangeStore>;

export function createWifiChangeStore({ db, box, clock }: { db: Database; box: SecretBox; clock: Clock }) {
  const set = async (
    { id }: { id: string },
    deviceId: string,
    values: { state: WifiDeviceState; told_at?: number | null; reason?: string },
  ): Promise<void> => {
    await db
      .updateTable('wifi_change_devices')
      .set({ ...values, changed_at: clock.now() })
      .where('change_id', '=', id)
      .where('device_id', '=', deviceId)
      // Nothing takes back that a device has followed.
      .where('state', '<>', 'followed')
      .execute();
  };
  return {
    latest: async (): Promise<WifiChangeRow | null> =>
      (await db.selectFrom('wifi_changes').selectAll().orderBy('id', 'desc').executeTakeFirst()) ?? null,
    /** By name. */
    targets: async ({ id }: WifiChangeRow): Promise<WifiTargetRow[]> => {
      const rows = await db
        .selectFrom('wifi_change_devices as target')
        .innerJoin('devices', 'devices.id', 'target.device_id')
        .select(['target.device_id', 'target.state', 'target.told_at', 'target.reason', 'target.changed_at'])
        .select(['devices.external_id', 'devices.status'])
        .where('target.change_id', '=', id)
        .orderBy('devices.name')
        .orderBy('devices.id')
        .execute();
      return rows.map((row) => ({
        deviceId: row.device_id,
        externalId: row.external_id,
        state: row.state,
        toldAt: row.told_at,
        isOnline: row.status === 'online',
        reason: row.reason,
        changedAt: row.changed_at,
      }));
    },
    /** Takes the place of the last change. @returns the number of devices; null while one runs. */
    create: (network: Network, userId: string): Promise<number | null> =>
      db.transaction().execute((transaction) => createChange({ transaction, box, now: clock.now() }, network, userId)),
    /** Null when the key it was encrypted with is gone. */
    credentials: ({ id, credentials }: WifiChangeRow): Network | null => {
      const text = credentials === null ? null : box.open(credentials, id);
      return text === null ? null : (JSON.parse(text) as Network);
    },
    /** The message is about to be given to the broker. */
    telling: (change: WifiChangeRow, deviceId: string): Promise<void> =>
      set(change, deviceId, { state: 'waiting', told_at: clock.now() }),
    note: (change: WifiChangeRow, deviceId: string, state: WifiDeviceState): Promise<void> =>
      set(change, deviceId, { state }),
    notTold: (change: WifiChangeRow, deviceId: string, reason: string): Promise<void> =>
      set(change, deviceId, { state: 'not_told', told_at: null, reason }),
    /** @returns whether it was running. */
    end: (state: 'ended' | 'cancelled'): Promise<boolean> =>
      db.transaction().execute((transaction) => endChange(transaction, state, clock.now())),
  };
}

async function createChange(
  { transaction, box, now }: { transaction: DatabaseTransaction; box: SecretBox; now: number },
  network: Network,
  userId: string,
): Promise<number | null> {
  const id = randomUUIDv7();
  await transaction.deleteFrom('wifi_changes').where('state', '<>', 'running').execute();
  const credentials = box.seal(JSON.stringify(network), id);
  const row = { id, ssid: network.ssid, credentials, started_by: userId, started_at: now, ended_at: null };
  const added = await transaction
    .insertInto('wifi_changes')
    .values({ ...row, state: 'running' })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (added === undefined) return null;
  const devices = await transaction.selectFrom('devices').select(['id', 'status']).where(isOwnDevice).execute();
  for (const { id: device_id, status } of devices) {
    const state = status === 'online' ? 'waiting' : 'offline';
    const target = { change_id: id, device_id, state, told_at: null, reason: null, changed_at: now } as const;
    await transaction.insertInto('wifi_change_devices').values(target).execute();
  }
  return devices.length;
}

async function endChange(
  transaction: DatabaseTransaction,
  state: 'ended' | 'cancelled',
  now: number,
): Promise<boolean> {
  const ended = await transaction
    .updateTable('wifi_changes')
    .set({ state, credentials: null, ended_at: now })
    .where('state', '=', 'running')
    .returning('id')
    .executeTakeFirst();
  if (ended === undefined) return false;
  const reason = 'The change was cancelled first.';
  await transaction
    .updateTable('wifi_change_devices')
    .set({ state: 'not_told', reason, changed_at: now })
    .where('change_id', '=', ended.id)
    .where('state', '=', 'waiting')
    .where('told_at', 'is', null)
    .execute();
  return true;
}

import { randomUUIDv7 } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { isoTime } from '@station/kit/clock';
import type { EventChannel } from '@station/protocol/cloud';
import type { FoldedReports } from '../store/fold-reports.ts';
import { jsonRows } from '../store/json-rows.ts';
import type { DatabaseTransaction } from '../store/schema.ts';

/** True in the database while the station is claimed and the cloud asks for the channel: nothing is kept for nobody. */
export const isWanted = (channel: EventChannel): RawBuilder<boolean> =>
  sql<boolean>`exists (select 1 from cloud_config
    where station_token is not null and active_channels like ${`%"${channel}"%`})`;

/**
 * Puts what the cloud must not miss of a batch of reports into the outbox, in the transaction that writes the reports: either both are on disk
 * or neither is. To be called before the devices are updated: only then it can be seen whose status changes. Of an event just its id goes
 * in; its content stands in `device_events`.
 */
export async function enqueueReports(
  transaction: DatabaseTransaction,
  kind: 'sqlite' | 'postgres',
  { changes, events }: Pick<FoldedReports, 'changes' | 'events'>,
): Promise<void> {
  const statuses = changes.flatMap(({ id: deviceId, status, statusAt: at }) => {
    if (status === null || at === null) return [];
    const content = JSON.stringify({ id: randomUUIDv7(), deviceId, status, at: isoTime(at) });
    return [{ deviceId, status, at, content }];
  });
  if (statuses.length > 0) {
    const columns = { deviceId: 'text', status: 'text', at: 'bigint', content: 'text' } as const;
    await sql`
      insert into cloud_outbox (channel, content, at)
      select 'status', given.content, given.at from ${jsonRows(kind, statuses, columns)}
      join devices on devices.id = given."deviceId"
      where devices.status <> given.status and ${isWanted('status')} order by given.at`.execute(transaction);
  }
  if (events.length === 0) return;
  const rows = events.map(({ id, deviceId }) => ({ id, deviceId }));
  await sql`
    insert into cloud_outbox (channel, ref)
    select 'events', given.id from ${jsonRows(kind, rows, { id: 'text', deviceId: 'text' })}
    join devices on devices.id = given."deviceId" where ${isWanted('events')} order by given.id`.execute(transaction);
}

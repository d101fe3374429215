import { sql } from 'kysely';
import { StationError } from '@station/kit/station-error';
import type { Store } from '../store/database.ts';
import { statusCapability } from './transition-fold.ts';
import type { Stretch } from './downsampling.ts';
import { gapsIn, type Run, type Span, type Transition } from './history-decide.ts';

type Parts = Pick<Store, 'db' | 'kind'>;

/** Transitions of a range in order, and before them the one that holds at its start. */
export async function readTransitions({ db }: Parts, query: Stretch): Promise<Transition[]> {
  const { deviceId, capability, fromMs, toMs } = query;
  const ofValue = db
    .selectFrom('device_transitions')
    .select(['at', 'value', 'span', 'share', 'changes'])
    .where('device_id', '=', deviceId)
    .where('capability', '=', capability)
    .where('at', '<', toMs);
  const before = await ofValue.where('at', '<', fromMs).orderBy('at', 'desc').limit(1).execute();
  return [...before, ...(await ofValue.where('at', '>=', fromMs).orderBy('at').execute())];
}

/** A read has them in memory: a device that changes a value without a pause must not fill it. */
const maxTransitions = 100_000;

/** @throws (rejects) StationError `too_many_changes`. */
export async function refuseTooMany({ db }: Parts, { deviceId, capability, fromMs, toMs }: Stretch): Promise<void> {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from (
      select at from device_transitions
      where device_id = ${deviceId} and capability = ${capability} and at >= ${fromMs} and at < ${toMs}
      limit ${sql.lit(maxTransitions + 1)}) as counted`.execute(db);
  if (Number(rows[0]?.count ?? 0) <= maxTransitions) return;
  throw new StationError('too_many_changes', 'The value changed too often in this time. Ask for a shorter one.');
}

/** Times offline and without a backend. Also used when transitions are summarised: the same gaps count for both. */
export async function readGaps(store: Parts, query: Stretch): Promise<Span[]> {
  const { fromMs, toMs } = query;
  const statuses = await readTransitions(store, { ...query, capability: statusCapability });
  const { rows: runs } = await sql<Run>`
    select started_at, alive_at from station_runs
    where started_at < ${toMs}
      and alive_at >= (select coalesce(max(alive_at), 0) from station_runs where alive_at < ${fromMs})`.execute(
    store.db,
  );
  return gapsIn({ fromMs, toMs }, statuses, runs);
}

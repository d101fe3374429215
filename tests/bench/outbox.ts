/**
 * `npm run bench -- outbox [--events N]`
 *
 * Simulates three days without a cloud at ten events per second, written as fast as possible. Then the cloud is back.
 * Measures how much disk the outbox uses, what is lost, how fast it is drained while devices send new states, and
 * whether the disk space is freed.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createOutboxStore, enqueueReports } from '../../apps/backend/src/cloud/outbox-store.ts';
import type { DeviceReport } from '../../apps/backend/src/core/device-events.ts';
import { createEventIds } from '../../apps/backend/src/core/event-ids.ts';
import { writeReports } from '../../apps/backend/src/history/report-store.ts';
import { benchStation, type BenchStation } from './cloud/bench-station.ts';
import type { SinkReport } from './cloud/sink.ts';
import { percentile } from './load/statistics.ts';

const goals = { diskBytes: 256 * 1024 * 1024, drainPerSecond: 2_000, liveP99Ms: 200 };
const flag = process.argv.indexOf('--events');
const total = flag < 0 ? 72 * 3600 * 10 : Number(process.argv[flag + 1]);
const batch = 2_000;
const deviceCount = 20;
const liveEveryMs = 50;
const endRows = 100;
const newId = createEventIds(Date.now);

async function fill(station: BenchStation, ids: readonly string[]): Promise<void> {
  const start = Date.now() - 72 * 3600 * 1000;
  for (let n = 0; n < total; n += batch) {
    const reports = Array.from({ length: Math.min(batch, total - n) }, (_, index): DeviceReport => {
      const number = n + index;
      const data = { action: 'motion_detected', n: number };
      return {
        kind: 'event',
        deviceId: ids[number % ids.length]!,
        at: start + number * 100,
        eventKind: 'device_event',
        data,
      };
    });
    await writeReports(station.store, reports, newId, enqueueReports);
    if (n % 500_000 < batch) process.stdout.write(`${n} events written\n`);
  }
}

/**
 * The newest messages are of another kind and larger than the others. The size of the others must not be estimated from the two ends.
 */
async function fillEnd({ store }: BenchStation): Promise<void> {
  const outbox = createOutboxStore(store);
  for (let n = 0; n < endRows; n++) {
    const content = {
      id: newId(),
      method: 'station.event',
      event: 'update_available',
      data: { notes: 'x'.repeat(300) },
    };
    await outbox.add({ channel: 'system', content, at: Date.now() });
  }
}

async function outboxBytes({ store }: BenchStation): Promise<number> {
  const { rows } = await sql<{ bytes: number | null }>`
    select sum(pgsize) as bytes from dbstat where name = 'cloud_outbox'`.execute(store.db);
  return rows[0]?.bytes ?? 0;
}

/** Size of the database file after the write-ahead log is merged into it. */
async function fileBytes({ store, file }: BenchStation): Promise<number> {
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
  return (await stat(file)).size;
}

/** A device sends its state every 50 ms, with the time of sending in it. */
async function sendStates(station: BenchStation, deviceId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const sentAt = Date.now();
    const reports: DeviceReport[] = [{ kind: 'state', deviceId, at: sentAt, state: { sentAt } }];
    await writeReports(station.store, reports, newId, enqueueReports);
    station.events.emit({ kind: 'reports', reports });
    await sleep(liveEveryMs);
  }
}

async function measure(folder: string): Promise<boolean> {
  await using station = await benchStation(folder);
  const ids: string[] = [];
  for (let index = 0; index < deviceCount; index++) {
    const device = { externalId: `d${index}`, type: 'pir', name: `Device ${index}`, zoneId: null };
    ids.push((await station.devices.provision(device)).id);
  }
  const began = performance.now();
  await fill(station, ids);
  const fillSeconds = (performance.now() - began) / 1000;
  await fillEnd(station);
  const usedBytes = await outboxBytes(station);
  const outboxStore = createOutboxStore(station.store);
  const measuredAt = performance.now();
  const measured = await outboxStore.size();
  const measuredMs = Math.round(performance.now() - measuredAt);
  const isMeasured = measured.pending === total + endRows && measured.bytes >= usedBytes;
  const fullBytes = await fileBytes(station);

  const sink = fork(join(import.meta.dirname, 'cloud/sink.ts'), [], { serialization: 'advanced' });
  const ask = async (): Promise<SinkReport> => {
    sink.send('report');
    return ((await once(sink, 'message')) as [SinkReport])[0];
  };
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
  const cloud = await station.link(port);
  const stopSending = new AbortController();
  const sendingStates = sendStates(station, ids[0]!, stopSending.signal);
  const deadline = performance.now() + 60_000 + (total / goals.drainPerSecond) * 2_000;
  let report = await ask();
  while (report.events < total && performance.now() < deadline) {
    await sleep(1_000);
    report = await ask();
  }
  stopSending.abort();
  await sendingStates;
  const drainPerSecond = Math.round((report.events / Math.max(1, report.lastAt - report.firstAt)) * 1000);
  const liveP99Ms = percentile(report.stateDelaysMs, 99);
  // The outbox checks every ten seconds and frees some megabytes per second.
  let finalBytes = await fileBytes(station);
  for (let wait = 0; wait < 60 && finalBytes > fullBytes - usedBytes * 0.9; wait++) {
    await sleep(1_000);
    finalBytes = await fileBytes(station);
  }
  const { outbox } = await cloud.status();
  sink.disconnect();
  const lost = total - report.events;
  const freedRatio = (fullBytes - finalBytes) / usedBytes;
  const ok =
    usedBytes <= goals.diskBytes &&
    isMeasured &&
    lost === 0 &&
    outbox.dropped === 0 &&
    outbox.pending === 0 &&
    report.outOfOrder === 0 &&
    drainPerSecond >= goals.drainPerSecond &&
    liveP99Ms < goals.liveP99Ms &&
    freedRatio >= 0.9;
  const result = {
    bench: 'outbox',
    value: drainPerSecond,
    unit: 'events/s drained',
    ratio: Number((drainPerSecond / goals.drainPerSecond).toFixed(2)),
    goal: goals.drainPerSecond,
    ok,
    events: total,
    lost,
    repeated: report.repeated,
    outOfOrder: report.outOfOrder,
    outboxMiB: Number((usedBytes / 1024 / 1024).toFixed(1)),
    recordMiB: Number(((fullBytes - usedBytes) / 1024 / 1024).toFixed(1)),
    measuredMiB: Number((measured.bytes / 1024 / 1024).toFixed(1)),
    measuredMs,
    writtenPerSecond: Math.round(total / fillSeconds),
    liveP99Ms,
    liveSamples: report.stateDelaysMs.length,
    freedRatio: Number(freedRatio.toFixed(2)),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok;
}

const folder = await mkdtemp(join(tmpdir(), 'station-outbox-'));
try {
  process.exitCode = (await measure(folder)) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/**
 * `npm run bench -- wear [--minutes N] [--devices N]`
 *
 * What a station writes to its card. The data folder of the backend with its own broker is on a small ext4 disk. Each device sends a state
 * every 30 s, evenly spread, as at home: the time between commits is the real one, because what comes together is written together. The
 * run is short (10 minutes), and a day is counted from it. Sectors are those of the loop device, so the journal of ext4 is in them.
 */
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDevice, type TestDevice } from '../../apps/backend/src/testing/test-device.ts';
import { install, stationId } from '../e2e/backend/installation.ts';
import { run } from '../rig/program.ts';
import { createSmallDisk } from '../rig/small-disk.ts';

const goals = { bytesPerDay: 400e6, ratio: 30 };
const everyMs = 30_000;
const settleMs = 35_000;
const sectorBytes = 512;
/** 4000 pages: then it is copied into the database, and begins again (`core/adapters/sqlite.ts`). */
const wholeLogBytes = 16_000_000;
const commitsAfterwards = 100;
const dayMs = 86_400_000;

const flag = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const minutes = flag('--minutes', 10);
const count = flag('--devices', 50);

const stateOf = (turn: number) => ({ temperature: 20 + (turn % 50) / 10, humidity: 40 + ((turn * 3) % 20) });

await using station = await install('the embedded broker and SQLite', { devices: count });
const image = join(station.folder, 'card.ext4');
await createSmallDisk({ image, folder: station.dataDir, megabytes: 512 });
const device = basename(await run('findmnt', ['-n', '-o', 'SOURCE', station.dataDir]));
await station.startBackend();
await station.logIn();
const clients: TestDevice[] = [];
for (const { externalId, token } of station.logins)
  clients.push(await connectDevice(station.mqttUrl, { stationId, id: '', externalId, token }));

/** A new write-ahead log grows, and each commit changes its inode. On a station that runs for long it is written over and over. */
async function fillLog(): Promise<void> {
  const log = join(station.dataDir, 'station.sqlite-wal');
  for (let after = 0, turn = 0; after < commitsAfterwards; turn++) {
    await clients[turn % count]?.publish('state', { state: stateOf(turn) });
    if (turn % 50 === 0 && (await stat(log)).size >= wholeLogBytes) after += 50;
  }
}

/** Bytes that reached the device, and those that the backend gave to the file system. */
async function written(): Promise<{ device: number; backend: number }> {
  await run('sync', ['-f', station.dataDir]);
  const sectors = (await readFile(`/sys/block/${device}/stat`, 'utf8')).trim().split(/\s+/)[6];
  const io = await readFile(`/proc/${station.pid()}/io`, 'utf8');
  return { device: Number(sectors) * sectorBytes, backend: Number(/^write_bytes: (\d+)$/m.exec(io)?.[1]) };
}

await fillLog();
let messages = 0;
let payload = 0;
const stopping = new AbortController();
const reporting = clients.map(async (client, index) => {
  await sleep((index * everyMs) / count);
  for (let turn = 0; !stopping.signal.aborted; turn++) {
    const state = stateOf(turn * count + index);
    await client.publish('state', { state });
    messages += 1;
    payload += JSON.stringify({ state }).length;
    await sleep(everyMs, null, { signal: stopping.signal }).catch(() => undefined);
  }
});
await sleep(settleMs);
process.stderr.write('measuring\n');
const before = { ...(await written()), messages, payload, at: performance.now() };
await sleep(minutes * 60_000);
const after = { ...(await written()), messages, payload, at: performance.now() };
stopping.abort();
await Promise.all(reporting);
for (const client of clients) await client[Symbol.asyncDispose]();
await station.stopBackend('SIGTERM');

const toDay = dayMs / (after.at - before.at);
const bytes = after.device - before.device;
const payloadBytes = after.payload - before.payload;
const bytesPerDay = Math.round(bytes * toDay);
const ratio = Math.round((10 * bytes) / payloadBytes) / 10;
const result = {
  bench: 'wear',
  value: Math.round(bytesPerDay / 1e6),
  unit: 'MB a day, counted from a short run',
  ratio,
  goal: `<= ${goals.bytesPerDay / 1e6} MB and <= ${goals.ratio} times the payload`,
  ok: bytesPerDay <= goals.bytesPerDay && ratio <= goals.ratio,
  minutes,
  devices: count,
  messages: after.messages - before.messages,
  payloadBytes,
  bytesPerMessage: Math.round(bytes / (after.messages - before.messages)),
  byBackendMB: Math.round(((after.backend - before.backend) * toDay) / 1e6),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exitCode = result.ok ? 0 : 1;

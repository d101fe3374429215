/**
 * `npm run bench -- wear [--minutes N] [--devices N] [--qos 0|1] [--broker mosquitto|embedded]`
 *
 * What a station writes to its card: the data folder of the backend, Mosquitto with the configuration of the stack, and the backend's log are
 * on a small ext4 disk. Each device sends a state every 30 s, evenly spread, as at home: the time between commits is the real one, because
 * what comes together is written together. A health check comes each 30 s, as from Docker. Sectors are those of the loop device, so the
 * journal of ext4 is in them.
 *
 * The run is short (10 minutes), and a day is counted from it. What is written less often is measured once and counted as often as it comes
 * with this run's length: moving the log into its tables (at home only each half hour, so this is more than a day has), and the same again
 * for the checkpoint. The daily copy is that of a database with the samples of a week.
 */
import { cp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyDatabase } from '../../apps/backend/src/store/copy-job.ts';
import { connectDevice, type TestDevice } from '../../apps/backend/testing/test-device.ts';
import { install, stationId } from '../e2e/backend/installation.ts';
import { run, waitFor } from '../rig/program.ts';
import { createSmallDisk } from '../rig/small-disk.ts';

const goals = { bytesPerDay: 400e6, ratio: 30 };
const everyMs = 30_000;
const settleMs = 35_000;
const sectorBytes = 512;
/** 4000 pages: then it is copied into the database, and begins again (`core/adapters/sqlite.ts`). */
const wholeLogBytes = 16_000_000;
const dayMs = 86_400_000;
const healthMs = 30_000;
const daysOfSamples = 7;

const flag = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const minutes = flag('--minutes', 10);
const count = flag('--devices', 50);
const qos = flag('--qos', 1) === 0 ? 0 : 1;
const isEmbedded = process.argv.includes('embedded');

const stateOf = (turn: number) => ({ temperature: 20 + (turn % 50) / 10, humidity: 40 + ((turn * 3) % 20) });

await using station = await install(isEmbedded ? 'the embedded broker and SQLite' : 'Mosquitto and SQLite', {
  devices: count,
});
await createSmallDisk({ image: join(station.folder, 'card.ext4'), folder: station.dataDir, megabytes: 512 });
const device = basename(await run('findmnt', ['-n', '-o', 'SOURCE', station.dataDir]));
await placeOnCard('backend.log');
if (station.mosquitto !== null) {
  await station.mosquitto.stop();
  await placeOnCard('mosquitto');
  await station.mosquitto.start();
}
await station.startBackend();
const token = await station.logIn();
const clients: TestDevice[] = [];
// Mosquitto has the logins a moment after the start.
for (const { externalId, token: password } of station.logins) {
  const login = { stationId, id: '', externalId, token: password };
  clients.push(await waitFor('the login', () => connectDevice(station.mqttUrl, login).catch(() => null)));
}

/** A file or folder of the installation is on the card, under its old name. */
async function placeOnCard(name: string): Promise<void> {
  const own = join(station.folder, name);
  const onCard = join(station.dataDir, name);
  await cp(own, onCard, { recursive: true }).catch(() => writeFile(onCard, ''));
  await rm(own, { recursive: true, force: true });
  await symlink(onCard, own);
}

/** A new write-ahead log grows, and each commit changes its inode. On a station that runs for long it is written over and over. */
async function fillLog(): Promise<void> {
  const log = join(station.dataDir, 'station.sqlite-wal');
  using database = new DatabaseSync(join(station.dataDir, 'station.sqlite'), { timeout: 60_000 });
  database.exec('pragma wal_autocheckpoint = 0');
  database.exec('create table filler (content blob); insert into filler values (zeroblob(1000000))');
  while ((await stat(log)).size < wholeLogBytes) database.exec('update filler set content = randomblob(1000000)');
}

/** Size of the daily copy of this station after a week: two values of each device, with noise, as they come at home. */
async function copyOfAWeek(): Promise<number> {
  const file = join(station.folder, 'week.sqlite');
  await cp(join(station.dataDir, 'station.sqlite'), file);
  const samples = (daysOfSamples * dayMs) / everyMs;
  using database = new DatabaseSync(file);
  database.exec(`
    drop table filler;
    delete from device_samples;
    begin;
    with recursive turns(turn) as (select 0 union all select turn + 1 from turns where turn < ${samples - 1})
    insert into device_samples (device_id, capability, at, value)
    select devices.id, given.capability, ${Date.now()} + turn * ${everyMs} + devices.rowid * 500 + abs(random() % 2000),
      round(given.usual + 3 * sin(turn / 458.0) + abs(random() % 5) / 10.0, 1)
    from turns cross join devices
    cross join (select 'temperature' as capability, 20 as usual union all select 'humidity', 45) as given;
    commit;
    vacuum;
  `);
  const copy = join(station.folder, 'week.zst');
  await copyDatabase(file, copy, new AbortController().signal);
  return (await stat(copy)).size;
}

/** Moves the log of reports into the tables, as each half hour does. */
async function settle(): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const devices = (await (await fetch(`${station.url}/api/devices`, { headers })).json()) as { id: string }[];
  const query = `capability=temperature&from=${new Date(Date.now() - 60_000).toISOString()}`;
  const answer = await fetch(`${station.url}/api/devices/${devices[0]?.id}/history?${query}`, { headers });
  if (!answer.ok) throw new Error(`history: ${answer.status} ${await answer.text()}`);
}

/** Commits of ext4, and blocks of 4 KiB in them on average. */
const journal = (): Promise<string> => readFile(`/proc/fs/jbd2/${device}-8/info`, 'utf8');
const commitsOf = (info: string): number => Number(/^(\d+) transactions/.exec(info)?.[1]);

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
    await client.publish('state', { state }, qos);
    messages += 1;
    payload += JSON.stringify({ state }).length;
    await sleep(everyMs, null, { signal: stopping.signal }).catch(() => undefined);
  }
});
const checking = (async () => {
  while (!stopping.signal.aborted) {
    await (await fetch(`${station.url}/api/health`)).text();
    await sleep(healthMs, null, { signal: stopping.signal }).catch(() => undefined);
  }
})();
await sleep(settleMs);
await settle();
await sleep(1_000);
process.stderr.write('measuring\n');
const before = { ...(await written()), messages, payload, at: performance.now(), journal: await journal() };
await sleep(minutes * 60_000);
const after = { ...(await written()), messages, payload, at: performance.now(), journal: await journal() };
await settle();
const settled = await written();
stopping.abort();
await Promise.all([...reporting, checking]);
for (const client of clients) await client[Symbol.asyncDispose]();
await station.stopBackend('SIGTERM');

const toDay = dayMs / (after.at - before.at);
const mega = (bytes: number): number => Math.round(bytes / 1e6);
const perDay = (bytes: number): number => mega(bytes * toDay);
const payloadBytes = after.payload - before.payload;
const commits = commitsOf(after.journal) - commitsOf(before.journal);
const ofWrites = after.device - before.device;
const ofTables = 2 * (settled.device - after.device);
const dayOfPayload = payloadBytes * toDay;
const dailyCopy = await copyOfAWeek();
const bytesPerDay = (ofWrites + ofTables) * toDay + dailyCopy;
const ratio = (bytes: number): number => Math.round((10 * bytes) / dayOfPayload) / 10;
const result = {
  bench: 'wear',
  value: mega(bytesPerDay),
  unit: 'MB a day, counted from a short run',
  ratio: ratio(bytesPerDay),
  goal: `<= ${goals.bytesPerDay / 1e6} MB and <= ${goals.ratio} times the payload`,
  ok: bytesPerDay <= goals.bytesPerDay && bytesPerDay <= goals.ratio * dayOfPayload,
  minutes,
  devices: count,
  messages: after.messages - before.messages,
  payloadBytes,
  /** What the value is made of, MB a day. */
  ofReports: perDay(ofWrites),
  ofReportsGivenByBackend: perDay(after.backend - before.backend),
  ofTables: perDay(ofTables),
  ofDailyCopy: mega(dailyCopy),
  ratioWithoutCopy: ratio((ofWrites + ofTables) * toDay),
  journalCommitsADay: Math.round(commits * toDay),
  bytesPerJournalCommit: Math.round(ofWrites / commits),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exitCode = result.ok ? 0 : 1;

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startFleet } from '@station/simulators/devices/fleet';
import { createRandom } from '../../faults/choice.ts';
import { backendProgram } from '../../rig/build.ts';
import { needPackages } from '../../rig/debian.ts';
import { extent } from '../../rig/extent.ts';
import { run, systemEnv, tryRun, waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

const passphrase = 'correct horse battery staple';
const deviceCount = 500;
/** Devices with a row of history for each hour of a year. */
const recordedDevices = extent(20, 500);
/** Of each kind. */
const kills = extent(3, 50);
/** Kills that each come after 60 % of the time of the one before: a thousandth at last. */
const nearer = 14;
/** Of the station that is killed. */
const killedDevices = extent(2, 500);
const yearMs = 365 * 24 * 3_600_000;
const timeoutMs = 300_000;

type Outcome = { kind: string; reason?: string; manifest: { rows: Record<string, number>; files: { name: string }[] } };

/** The command line of the backend, beside or without a running one. */
type CommandLine = {
  (args: readonly string[], word?: string): Promise<Outcome>;
  /** @returns whether the process was still there. */
  killed(args: readonly string[], afterMs: number): Promise<boolean>;
};

function commandLine(env: () => Record<string, string>, passphraseFile: string): CommandLine {
  const all = (args: readonly string[]): string[] => [backendProgram, ...args, '--passphrase-file', passphraseFile];
  const call = async (args: readonly string[], word = passphrase): Promise<Outcome> => {
    await writeFile(passphraseFile, `${word}\n`);
    const { stdout, stderr } = await tryRun(process.execPath, all(args), { env: env() });
    const line = stdout.trimEnd().split('\n').at(-1) ?? '';
    assert.ok(line.startsWith('{"outcome"'), `${args.join(' ')}: ${stdout}${stderr}`);
    return (JSON.parse(line) as { outcome: Outcome }).outcome;
  };
  const killed = async (args: readonly string[], afterMs: number): Promise<boolean> => {
    await writeFile(passphraseFile, `${passphrase}\n`);
    const child = spawn(process.execPath, all(args), { env: { ...systemEnv, ...env() }, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
    const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    return signal === 'SIGKILL';
  };
  return Object.assign(call, { killed });
}

function assertDone(outcome: Outcome, when = ''): void {
  assert.equal(outcome.kind, 'done', `${when} ${JSON.stringify(outcome)}`);
}

/** A year of hours, written by SQL: it would take a year otherwise. */
function recordYear(dataDir: string): void {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'));
  const hour = 3_600_000;
  const last = Math.floor(Date.now() / hour) * hour - 2 * hour;
  database.exec(`
    insert into device_hours (device_id, capability, hour, samples, total, lowest, highest)
    with recursive hours(at) as (select ${last} union all select at - ${hour} from hours where at > ${last - yearMs})
    select id, 'temperature', at, 360, 360 * (20 + at % 7), 20, 27
    from (select id from devices order by id limit ${recordedDevices}), hours
  `);
}

const count = (dataDir: string, sql: string): number => {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { readOnly: true, timeout: 5_000 });
  return Number(database.prepare(`select count(*) as found from ${sql}`).get()?.['found']);
};

async function moveTo(station: Installation, dataDir: string): Promise<void> {
  station.env['DATA_DIR'] = dataDir;
  // A new machine: another identity, and it knows no device.
  station.env['STATION_ID'] = '11111111-2222-4333-8444-555555555555';
  delete station.env['DEVICES_FILE'];
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
}

test(
  'a full station is backed up in use, dies, and comes back on other hardware',
  { timeout: 3_600_000 },
  async (t) => {
    await using station = await install('the embedded broker and SQLite', { devices: deviceCount });
    await station.startBackend();
    await station.logIn();
    await station.stopBackend('SIGTERM');
    recordYear(station.dataDir);
    await station.startBackend();
    await using fleet = startFleet({ url: station.mqttUrl, stationId, logins: station.logins, heartbeatMs: 10_000 });
    await waitFor('all devices', () => fleet.acceptedCount() === deviceCount || null, timeoutMs);

    const file = join(station.folder, 'home.age');
    const command = commandLine(() => station.env, join(station.folder, 'passphrase'));
    const made = await command(['backup', '--to', file]);
    assert.equal(made.kind, 'done');
    assert.equal(made.manifest.rows['devices'], deviceCount);
    assert.ok((made.manifest.rows['device_hours'] ?? 0) >= recordedDevices * 8_760);
    await station.stopBackend('SIGKILL');

    await t.test('common programs open it', () => opensWithCommonPrograms(station, file));
    await t.test('files that cannot be restored are refused in words', () => refusals(station, command, file));

    const other = join(station.folder, 'other');
    await moveTo(station, other);
    assertDone(await command(['restore', file]));
    const connected = Date.now();
    await station.startBackend();
    // Heard since, with the logins that are in the backup: nobody touched a device.
    const back = (): number => count(other, `devices where last_seen_at > ${connected} and status = 'online'`);
    await waitFor('every device to be back', () => back() === deviceCount || null, timeoutMs);
    assert.equal(count(other, 'unknown_devices'), 0);
    assert.equal(count(other, `station where station_id = '${stationId}'`), 1);
    assert.ok(count(other, 'device_hours') >= (made.manifest.rows['device_hours'] ?? Infinity));
    assert.equal(count(other, 'users'), 1);
    await station.stopBackend('SIGTERM');
    assert.deepEqual(
      (await readdir(other)).filter((name) => name.startsWith('restore')),
      [],
    );
    await t.test('a disk that cannot hold so large a file is named', () => refusesLargeFiles(station));
  },
);

/** FAT32 answers as a limit of the process does: EFBIG. */
async function refusesLargeFiles(station: Installation): Promise<void> {
  const folder = join(station.folder, 'limited');
  const word = join(station.folder, 'passphrase');
  await mkdir(folder);
  const args = [backendProgram, 'backup', '--to', join(folder, 'a.age'), '--passphrase-file', word];
  const limited = ['--fsize=65536', process.execPath, ...args];
  const { stdout } = await tryRun('prlimit', limited, { env: station.env });
  assert.match(stdout, /"reason":"too_large"/);
  assert.deepEqual(await readdir(folder), []);
}

async function opensWithCommonPrograms(station: Installation, file: string): Promise<void> {
  await needPackages(['age', 'zstd']);
  // `age` asks a terminal for the passphrase; `script` is one.
  const folder = join(station.folder, 'opened');
  await mkdir(folder);
  const opened = `age -d ${file} | zstd -d | tar -x -C ${folder}`;
  await run('script', ['-qec', opened, '/dev/null'], { input: `${passphrase}\n` });
  await run('sha256sum', ['-c', '--strict', 'SHA256SUMS'], { cwd: folder });
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as { stationId: string };
  assert.equal(manifest.stationId, stationId);
  using database = new DatabaseSync(join(folder, 'station.sqlite'));
  assert.equal(Object.values(database.prepare('pragma integrity_check').get() ?? {})[0], 'ok');
}

async function refusals(station: Installation, command: CommandLine, file: string): Promise<void> {
  const content = await readFile(file);
  const altered = Buffer.from(content);
  const middle = Math.floor(content.length / 2);
  altered[middle] = (altered[middle] ?? 0) ^ 1;
  const alteredFile = join(station.folder, 'altered.age');
  const cutFile = join(station.folder, 'cut.age');
  await writeFile(alteredFile, altered);
  await writeFile(cutFile, content);
  await truncate(cutFile, middle);
  const before = await readdir(station.dataDir);
  assert.equal((await command(['restore', file], 'wrong horse battery staple')).reason, 'passphrase_wrong');
  assert.equal((await command(['restore', alteredFile])).reason, 'damaged');
  assert.equal((await command(['restore', cutFile])).reason, 'incomplete');
  assert.equal((await command(['restore', station.devicesFile])).reason, 'not_recognised');
  assert.deepEqual((await readdir(station.dataDir)).sort(), [...new Set([...before, 'backup-work'])].sort());
}

test('SIGKILL at random moments leaves the old station or the new one', { timeout: 7_200_000 }, async (t) => {
  await using station = await install('the embedded broker and SQLite', { devices: killedDevices });
  await station.startBackend();
  await station.stopBackend('SIGTERM');
  recordYear(station.dataDir);
  await station.startBackend();
  const source = station.dataDir;
  const command = commandLine(() => station.env, join(station.folder, 'passphrase'));
  const random = createRandom(11);

  await t.test('a backup exists when it is complete, or not at all', async () => {
    const folder = join(station.folder, 'backups');
    await mkdir(folder);
    const started = performance.now();
    assertDone(await command(['backup', '--to', join(folder, 'station-first-20260101T000000Z.age')]));
    let longestMs = performance.now() - started;
    let cut = 0;
    // Where the first one was much slower than the others, the kills come too late until they have come nearer.
    for (let kill = 0; kill < kills || (cut === 0 && kill < kills + nearer); kill++) {
      const file = join(folder, `station-${kill}-20260101T000000Z.age`);
      if (await command.killed(['backup', '--to', file], (0.3 + 0.7 * random()) * longestMs)) cut += 1;
      // This one had ended before its kill: the next kill comes earlier.
      else longestMs *= 0.6;
      if (existsSync(file)) assertDone(await command(['verify', file]), `kill ${kill}`);
    }
    assert.ok(cut > 0, 'no process was killed');
    assertDone(await command(['backup', '--to', join(folder, 'station-last-20260101T000000Z.age')]));
    const left = [...(await readdir(folder)), ...(await readdir(join(source, 'backup-work')))];
    assert.deepEqual(
      left.filter((name) => name.endsWith('.tmp') || name === 'scratch'),
      [],
    );
  });
  await station.stopBackend('SIGTERM');

  await t.test('a restore', async () => {
    const file = join(station.folder, 'backups/station-last-20260101T000000Z.age');
    const before = join(station.folder, 'before');
    const target = join(station.folder, 'target');
    await moveTo(station, before);
    await station.startBackend();
    await station.stopBackend('SIGTERM');
    station.env['DATA_DIR'] = target;
    const keyOf = async (dataDir: string): Promise<string> => readFile(join(dataDir, 'settings-key'), 'utf8');
    const sides = new Map([
      [await keyOf(before), 'own'],
      [await keyOf(source), 'restored'],
    ]);
    const seen = new Set<string>();
    const emptied = async (): Promise<void> => {
      await rm(target, { recursive: true, force: true });
      await cp(before, target, { recursive: true });
    };
    await emptied();
    const started = performance.now();
    assertDone(await command(['restore', file]));
    const tookMs = performance.now() - started;
    for (let kill = 0; kill < kills; kill++) {
      await emptied();
      // Half of them end the preparation, the others the start that follows it.
      if (kill % 2 === 0) await command.killed(['restore', file], (0.2 + 0.8 * random()) * tookMs);
      else assertDone(await command(['restore', file]));
      const starting = station.startBackend();
      const failed = starting.catch(() => 'killed');
      if (kill % 2 === 1) await killSoon(station, random() * 2_500);
      await failed;
      await station.stopBackend('SIGKILL');
      await station.startBackend();
      const side = sides.get(await keyOf(target)) ?? 'unknown';
      seen.add(side);
      const isRestored = count(target, `station where station_id = '${stationId}'`) === 1;
      assert.equal(isRestored ? 'restored' : 'own', side, `kill ${kill}`);
      assert.equal(count(target, 'devices'), isRestored ? killedDevices : 0, `kill ${kill}`);
      await station.stopBackend('SIGTERM');
    }
    assert.ok(!seen.has('unknown'));
    t.diagnostic(`a restore takes ${(tookMs / 1000).toFixed(1)} s; after ${kills} kills: ${[...seen].join(', ')}`);
  });
});

async function killSoon(station: Installation, afterMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  await station.stopBackend('SIGKILL');
}

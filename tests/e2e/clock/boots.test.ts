import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { Session, StationClock } from '@station/protocol/rest';
import { runProgram, type RunningProgram } from '../../../apps/backend/testing/running-program.ts';
import { temporaryFolder } from '../../../apps/backend/testing/temporary-folder.ts';
import { connectDevice } from '../../../apps/backend/testing/test-device.ts';
import { until } from '../../../apps/backend/testing/until.ts';

const stationId = 'c0ffee00-0000-4000-8000-000000000001';
const token = 'a-token-of-a-device-that-is-long-enough-0123456789';
const owner = {
  code: 'CLOCK-12345-67890',
  email: 'olena@example.org',
  password: 'correct horse battery',
  name: 'Olena',
};
const minute = 60_000;
const year = 365 * 24 * 60 * minute;

type Logged = RunningProgram['lines'][number] & { address?: string };

/** Bound over the kernel's file, so that a process is one of another start of the machine. */
const otherBoot = (file: string): string[] => [
  '/usr/bin/unshare',
  '--mount',
  '/bin/sh',
  '-c',
  `/bin/mount --bind ${file} /proc/sys/kernel/random/boot_id && exec "$@"`,
  'sh',
];

/** A real backend whose wall clock the test sets. */
async function withStation() {
  const folder = await temporaryFolder();
  const shiftFile = join(folder.path, 'shift');
  const devicesFile = join(folder.path, 'devices.json');
  const device = { externalId: 'hall', type: 'climate', name: 'Hall', token };
  await writeFile(devicesFile, JSON.stringify({ devices: [device] }));
  const set = (wallMs: number): Promise<void> => writeFile(shiftFile, String(wallMs - Date.now()));
  /** @param boot another one is another start of the machine; null: this one. */
  const start = async (wallMs: number, boot: string | null = null) => {
    await set(wallMs);
    const bootFile = join(folder.path, 'boot');
    if (boot !== null) await writeFile(bootFile, boot);
    const environment = {
      PORT: '0',
      DATA_DIR: join(folder.path, 'data'),
      STATION_ID: stationId,
      STATION_CODE: owner.code,
      DEVICES_FILE: devicesFile,
      SHIFT_FILE: shiftFile,
      NODE_OPTIONS: `--import ${import.meta.resolve('./shifted-clock.ts')}`,
    };
    const program = runProgram(environment, boot === null ? [] : otherBoot(bootFile));
    const line = (event: string): Logged | undefined => program.lines.find((one) => one.event === event);
    await until('the backend to start', () => line('backend_started') !== undefined);
    const url = line('backend_started')?.address ?? '';
    const lamp = await connectDevice(line('mqtt_listening')?.address ?? '', {
      stationId,
      id: '',
      externalId: device.externalId,
      token,
    });
    const stop = async (): Promise<void> => {
      await lamp[Symbol.asyncDispose]();
      program.child.kill('SIGTERM');
      await program.exit;
    };
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const clock = async (accessToken: string): Promise<StationClock> => {
      const headers = { authorization: `Bearer ${accessToken}` };
      return (await (await fetch(`${url}/api/system/clock`, { headers })).json()) as StationClock;
    };
    const logIn = async (): Promise<string> => {
      const { email, password } = owner;
      return ((await (await post('/api/auth/login', { email, password })).json()) as Session).accessToken;
    };
    const report = (temperature: number) => lamp.publish('state', { state: { temperature } });
    return {
      program,
      line,
      url,
      report,
      post,
      clock,
      logIn,
      stop,
      [Symbol.asyncDispose]: program[Symbol.asyncDispose],
    };
  };
  const samples = (): { at: number; value: number }[] => {
    const database = new DatabaseSync(join(folder.path, 'data/station.sqlite'), { readOnly: true });
    const rows = database.prepare('select at, value from device_samples order by value').all();
    database.close();
    return rows as { at: number; value: number }[];
  };
  return { start, set, samples, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

// They mostly wait.
describe('a station whose clock nobody sets', { concurrency: true }, () => {
  test('boots in 1970: nothing is lost, times become right, and sessions stay', async () => {
    const begun = Date.now();
    await using station = await withStation();
    await using first = await station.start(5_000);
    const setup = await first.post('/api/auth/setup', owner);
    assert.equal(setup.status, 201, await setup.clone().text());
    const cookie = setup.headers.get('set-cookie')?.split(';')[0] ?? '';
    await first.report(1);
    await station.set(Date.now());
    await until('the history to be corrected', () => first.line('history_corrected') !== undefined);
    await first.report(2);
    const refreshed = await first.post('/api/auth/refresh', {}, { cookie });
    assert.equal(refreshed.status, 200, 'the session of 1970 is valid');
    const kept = refreshed.headers.get('set-cookie')?.split(';')[0] ?? '';
    await first.stop();
    const [one, two] = station.samples();
    assert.equal(station.samples().length, 2);
    for (const sample of [one, two]) {
      const at = sample?.at ?? 0;
      assert.ok(at > begun - minute && at < Date.now() + minute, JSON.stringify(sample));
    }

    await using second = await station.start(5_000);
    await second.report(3);
    const again = await second.post('/api/auth/refresh', {}, { cookie: kept });
    assert.equal(again.status, 200, 'a boot in 1970 ends no session');
    await second.stop();
    const all = station.samples();
    assert.deepEqual(
      all.map(({ value }) => value),
      [1, 2, 3],
    );
    assert.ok((all[2]?.at ?? 0) >= (all[1]?.at ?? 0), 'the second boot is later than the first');
  });

  test('nobody tells, the clock jumps by three years and comes back, over a restart and a reboot', async () => {
    const begun = Date.now();
    await using station = await withStation();
    await using first = await station.start(Date.now());
    assert.equal((await first.post('/api/auth/setup', owner)).status, 201);
    await first.report(1);
    await station.set(Date.now() + 3 * year);
    await until('the jump to be noticed', () => first.line('clock_corrected') !== undefined);
    await first.report(2);
    await first.stop();

    await using ahead = await station.start(Date.now() + 3 * year);
    await ahead.report(3);
    const held = await ahead.clock(await ahead.logIn());
    assert.deepEqual([held.trusted, held.needsHelp], [false, true], 'nothing is deleted because of its age');
    assert.ok(Date.parse(held.now) - Date.now() > 2 * year, 'people see the time that somebody set');
    await ahead.stop();

    await using back = await station.start(Date.now(), 'boot 2');
    await until('the history to be corrected', () => back.line('history_corrected') !== undefined);
    await back.report(4);
    const right = await back.clock(await back.logIn());
    assert.ok(right.trusted && Math.abs(Date.parse(right.now) - Date.now()) < minute, JSON.stringify(right));
    await back.stop();
    const samples = station.samples();
    assert.deepEqual(
      samples.map(({ value }) => value),
      [1, 2, 3, 4],
    );
    for (const { at, value } of samples) {
      assert.ok(at > begun - minute && at < Date.now() + minute, `value ${value} is ${at - begun} ms from the start`);
    }
  });

  test('nobody tells, and a jump of an hour is taken back by a reboot', async () => {
    const begun = Date.now();
    await using station = await withStation();
    await using first = await station.start(Date.now());
    await first.report(1);
    await station.set(Date.now() + 60 * minute);
    await until('the jump to be noticed', () => first.line('clock_corrected') !== undefined);
    await first.report(2);
    first.program.child.kill('SIGKILL');
    await first.stop();
    await using back = await station.start(Date.now(), 'boot 2');
    await until('the history to be corrected', () => back.line('history_corrected') !== undefined);
    await back.report(3);
    await back.stop();
    const samples = station.samples();
    assert.deepEqual(
      samples.map(({ value }) => value),
      [1, 2, 3],
    );
    for (const { at } of samples) assert.ok(at > begun - minute && at < Date.now() + minute, `${at - begun} ms`);
  });
});

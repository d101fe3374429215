import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { Discovered } from '@station/protocol/ble-frames';
import { startHelperProcess } from './adapters/ble-helper-process.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement, remoteHelper, type RemoteHelper } from '../../testing/remote-helper.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';
import { type BleHelper, startBleHelper, type WriteOutcome } from './ble-helper.ts';

type Supervised = AsyncDisposable & { helper: BleHelper; found: Discovered[]; log: ReturnType<typeof recordedLog> };

function supervise(program: string, environment: Record<string, string> = {}): Supervised {
  const found: Discovered[] = [];
  const log = recordedLog();
  const helper = startBleHelper({
    serviceUuid: advertisement().service_uuids[0]!,
    start: (listener) => startHelperProcess({ program, environment, ...listener }),
    admits: () => true,
    onDiscovered: (frame) => found.push(frame),
    onChanged: () => undefined,
    clock: systemClock,
    random: () => 0,
    logger: log,
  });
  return { helper, found, log, [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose]() };
}

const superviseRemote = ({ env: { BLE_HELPER, ...environment } }: RemoteHelper): Supervised =>
  supervise(BLE_HELPER, environment);

const scanning = { isNeeded: true, isScanning: true };

/** A helper program whose source is `lines`. */
async function programOf(folder: string, lines: string): Promise<string> {
  const path = join(folder, 'helper.mjs');
  await writeFile(path, lines);
  return path;
}

const write = (helper: BleHelper, onStart = (): void => undefined): Promise<WriteOutcome> => {
  const service = advertisement().service_uuids[0]!;
  const payload = 'the-password-of-the-wifi';
  const command = { address: 'C0:FF:EE:00:00:01', service_uuid: service, characteristic_uuid: service, payload };
  return helper.write(command, { onStart, signal: new AbortController().signal });
};

/** Moments at which the helper dies, and what the backend had asked of it by then. */
const moments: Record<string, (remote: RemoteHelper, { helper }: Supervised) => Promise<WriteOutcome | null>> = {
  'before it is ready': async () => null,
  'when it is told to scan': async (remote) => {
    remote.send({ event: 'ready' });
    await until('it is told', () => remote.isScanning());
    return null;
  },
  'while it scans': async (remote, { helper, found }) => {
    remote.send({ event: 'ready' });
    remote.send({ event: 'scan_started' });
    remote.send(advertisement());
    await until('a device is found', () => helper.report().isScanning && found.length > 0);
    return null;
  },
  'in the middle of a line': async (remote, { helper }) => {
    remote.send({ event: 'ready' });
    remote.send({ event: 'scan_started' });
    await until('it scans', () => helper.report().isScanning);
    remote.sendText('{"event":"discovered","addr');
    return null;
  },
  'while it writes': async (remote, { helper }) => {
    remote.send({ event: 'ready' });
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const written = write(helper, resolve);
    await started;
    await until('it received the command', () => remote.commands.some(({ event }) => event === 'connect_and_write'));
    remote.stop();
    return written;
  },
};

for (const [moment, reach] of Object.entries(moments)) {
  test(`a helper that dies ${moment} is started again, and scans`, async () => {
    await using remote = await remoteHelper({ isPolite: false });
    await using supervised = superviseRemote(remote);
    const { helper, log, found } = supervised;
    helper.want(scanning);
    await until('it runs', () => remote.isRunning());
    const outcome = await reach(remote, supervised);
    if (outcome !== null) assert.deepEqual(outcome, { ok: false, error: 'helper_failed' });
    const deaths = (): number => log.events('ble_helper_failed').length;
    if (deaths() === 0) remote.stop();
    await until('the next one runs', () => remote.starts() === 2 && remote.isRunning());
    assert.equal(deaths(), 1);
    assert.deepEqual([helper.report().isScanning, helper.report().isFailing], [false, true]);
    remote.send({ event: 'ready' });
    await until('it is told to scan', () => remote.isScanning());
    remote.send({ event: 'scan_started' });
    remote.send(advertisement({ name: 'after the restart' }));
    await until('devices are found again', () => found.at(-1)?.name === 'after the restart');
    assert.equal(helper.report().isFailing, false);
    assert.ok(!log.lines.join().includes('the-password'));
  });
}

test('lines that are no frames are counted and skipped, also long ones and those of a flood', async () => {
  await using remote = await remoteHelper();
  await using supervised = superviseRemote(remote);
  const { helper, found, log } = supervised;
  helper.want(scanning);
  await until('it scans', () => helper.report().isScanning);
  remote.sendText(`${'x'.repeat(200_000)}\n${'{}\n'.repeat(2_000)}\u0000\n[]\nnull\n{"event":"discovered"}\n`);
  remote.sendText(`{"event":"write_result","address":"C0:FF:EE:00:00:01","ok":true}\n`);
  remote.send(advertisement());
  await until('the next frame is read', () => found.length === 1);
  const reasons = log.events('ble_helper_line_ignored').map(({ reason }) => reason);
  assert.deepEqual(reasons, ['too long', 'not a frame', 'write_result without a write']);
  assert.equal(remote.starts(), 1);
});

test('it gets its own environment, and no secret of the backend', async () => {
  await using folder = await temporaryFolder();
  const source = `
    console.error(JSON.stringify({ note: 'log', message: Object.keys(process.env).sort().join(' ') }));
    console.log('{"event":"ready"}');
    process.stdin.resume();`;
  await using supervised = supervise(await programOf(folder.path, source), { BLE_ADAPTER: 'hci0', TZ: 'UTC' });
  const { helper, log } = supervised;
  helper.want(scanning);
  await until('it tells its environment', () => log.events('ble_helper_note').length > 0);
  assert.equal(log.events('ble_helper_note')[0]?.['message'], 'BLE_ADAPTER TZ');
});

test('notes say how the radio is; the output of a helper that knows secrets is not logged', async () => {
  await using folder = await temporaryFolder();
  const source = `
    console.log('{"event":"ready"}');
    console.error('{"note":"radio","state":"adapter_off"}');
    console.error('some warning of its runtime');
    process.stdin.on('data', (text) => {
      console.error(text.toString());
      console.log('{"event":"write_result","address":"C0:FF:EE:00:00:01","ok":false,"error":"adapter_off"}');
    });`;
  await using supervised = supervise(await programOf(folder.path, source));
  const { helper, log } = supervised;
  helper.want({ isNeeded: true, isScanning: false });
  await until('it reports the radio', () => helper.report().radio === 'adapter_off');
  const ignored = () => log.events('ble_helper_line_ignored');
  await until('its warning is logged', () => ignored().length > 0);
  assert.deepEqual(await write(helper), { ok: false, error: 'adapter_off' });
  assert.deepEqual(
    ignored().map(({ text }) => text),
    ['some warning of its runtime'],
  );
  assert.ok(!log.lines.join().includes('the-password'));
});

test('a helper that cannot be started is tried again', async () => {
  await using supervised = supervise('/no/such/helper.mjs');
  const { helper, log } = supervised;
  helper.want(scanning);
  await until('it was tried twice', () => log.events('ble_helper_failed').length === 2);
  const [first, second] = log.events('ble_helper_failed').map(({ retryInMs }) => Number(retryInMs));
  assert.ok(Number(first) < Number(second), 'with growing delays');
  assert.equal(helper.report().isFailing, true);
});

test('a helper that does not read its input is killed', async () => {
  await using folder = await temporaryFolder();
  await using supervised = supervise(
    await programOf(folder.path, `console.log('{"event":"ready"}'); setInterval(() => {}, 1e6);`),
  );
  const { helper, log } = supervised;
  helper.want(scanning);
  const isKilled = (): boolean => log.events('ble_helper_killed').length > 0;
  await until('it is killed', () => {
    for (let count = 0; count < 2_000 && !isKilled(); count++)
      helper.want({ isNeeded: true, isScanning: count % 2 > 0 });
    return isKilled();
  });
  assert.equal(log.events('ble_helper_killed')[0]?.['reason'], 'does not read its input');
});

test('disposing ends a helper that ignores its end, and a write under way', async () => {
  await using folder = await temporaryFolder();
  const source = `process.on('SIGTERM', () => {}); console.log('{"event":"ready"}'); setInterval(() => {}, 1e6);`;
  const { helper } = supervise(await programOf(folder.path, source));
  helper.want(scanning);
  const { promise: started, resolve } = Promise.withResolvers<void>();
  const written = write(helper, resolve);
  await started;
  await helper[Symbol.asyncDispose]();
  assert.deepEqual(await written, { ok: false, error: 'stopping' });
});

test('a helper that changes its mind about the radio without a pause fills no log', async () => {
  await using folder = await temporaryFolder();
  const program = await programOf(
    folder.path,
    `const note = (state) => JSON.stringify({ note: 'radio', state });
    for (let at = 0; at < 2_000; at++) console.error(note(at % 2 === 0 ? 'ready' : 'adapter_off'));
    console.error(note('adapter_blocked'));
    console.log('{"event":"ready"}');
    process.stdin.resume();`,
  );
  await using supervised = supervise(program);
  const { helper, log } = supervised;
  helper.want(scanning);
  await until('all notes are read', () => helper.report().radio === 'adapter_blocked');
  const logged = log.events('ble_radio').length;
  assert.ok(logged >= 3 && logged < 100, `${logged} lines`);
});

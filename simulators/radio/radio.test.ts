import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  HelperEvent,
  HelperNote,
  improvCommandUuid,
  improvServiceUuid,
  provisioningCharacteristicUuid,
  provisioningServiceUuid,
} from '@station/protocol/ble-frames';
import { until } from '@station/backend/testing/until';
import { Value } from 'typebox/value';
import { crowd, waitingDevices } from './peripheral-plan.ts';
import { startVirtualRadio, type VirtualRadio, type VirtualRadioOptions } from './radio.ts';

const [lamp, , breaking, , , improv] = waitingDevices.map(({ address }) => address) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const home = { ssid: 'Home', password: 'correct-horse' };
const payload = JSON.stringify({
  ...home,
  mqtt_host: '127.0.0.1',
  mqtt_port: 9,
  device_id: 'a1b2c3',
  device_token: 'token',
  station_id: 'station',
});

type Helper = AsyncDisposable & {
  events: HelperEvent[];
  notes: HelperNote[];
  send(command: object | string): void;
  /** The next event of this kind. */
  next<E extends HelperEvent['event']>(event: E): Promise<Extract<HelperEvent, { event: E }>>;
  ended: Promise<NodeJS.Signals | number | null>;
};

/** The program, as the backend runs it. Every line is checked against the schemas. */
function startHelper(socketPath: string): Helper {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'helper.ts')], {
    env: { BLE_RADIO_SOCKET: socketPath },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const events: HelperEvent[] = [];
  const notes: HelperNote[] = [];
  // Bytes that a killed program leaves unread end in an error of its pipe.
  const onLines = (input: Readable, read: (line: string) => void) =>
    createInterface({ input })
      .on('line', read)
      .on('error', () => undefined);
  onLines(child.stdout, (line) => {
    const event: unknown = JSON.parse(line);
    assert.ok(Value.Check(HelperEvent, event), line);
    events.push(event);
  });
  onLines(child.stderr, (line) => {
    const note: unknown = JSON.parse(line);
    assert.ok(Value.Check(HelperNote, note), line);
    notes.push(note);
  });
  const ended = new Promise<NodeJS.Signals | number | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  let read = 0;
  return {
    events,
    notes,
    ended,
    send: (command) => void child.stdin.write(`${typeof command === 'string' ? command : JSON.stringify(command)}\n`),
    next: async <E extends HelperEvent['event']>(wanted: E) => {
      for (;;) {
        await until(`the event ${wanted}`, () => events.length > read);
        const event = events[read];
        read += 1;
        if (event?.event === wanted) return event as Extract<HelperEvent, { event: E }>;
      }
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

describe('the simulated radio', () => {
  let stack: AsyncDisposableStack;
  let folder: string;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    folder = await mkdtemp(join(tmpdir(), 'station-radio-'));
    stack.defer(() => rm(folder, { recursive: true }));
  });
  afterEach(() => stack.disposeAsync());

  const startRadio = async (options: Partial<VirtualRadioOptions> = {}): Promise<VirtualRadio> =>
    stack.use(
      await startVirtualRadio({
        socketPath: join(folder, 'radio.sock'),
        networks: [home],
        speed: 50,
        plans: waitingDevices.map((plan) => ({ ...plan, advertiseEveryMs: 50 })),
        ...options,
      }),
    );
  const startBoth = async (
    options: Partial<VirtualRadioOptions> = {},
  ): Promise<{ radio: VirtualRadio; helper: Helper }> => {
    const radio = await startRadio(options);
    const helper = stack.use(startHelper(radio.socketPath));
    await helper.next('ready');
    await until('the helper connects', () => radio.helpers().connected === 1);
    return { radio, helper };
  };
  const scan = { event: 'start_scan', service_uuid: provisioningServiceUuid };
  const write = (address: string, body = payload) => ({
    event: 'connect_and_write',
    address,
    payload: body,
    service_uuid: provisioningServiceUuid,
    characteristic_uuid: provisioningCharacteristicUuid,
  });
  const stateOf = (radio: VirtualRadio, address: string) => radio.find(address).report().state;

  it('reports every device that advertises the service or Improv, from start_scan to stop_scan', async () => {
    const { radio, helper } = await startBoth();
    helper.send(scan);
    await helper.next('scan_started');
    const heard = () => new Set(helper.events.flatMap((one) => (one.event === 'discovered' ? [one.address] : [])));
    await until('all devices are heard', () => heard().size === 6);
    const nameless = helper.events.find((one) => one.event === 'discovered' && one.name === '');
    assert.ok(nameless?.event === 'discovered');
    assert.equal(
      Buffer.from(nameless.service_data[provisioningServiceUuid] ?? '', 'base64').toString(),
      'SH_pir_5521aa',
    );
    radio.setFaults(lamp, { isOutOfRange: true });
    helper.send({ event: 'stop_scan' });
    await helper.next('scan_stopped');
    assert.equal(radio.helpers().scanning, 0);
    const count = helper.events.length;
    await delay(200);
    assert.equal(helper.events.length, count);
  });

  it('writes one after another, with one result each, and a device that was written to advertises no more', async () => {
    const { radio, helper } = await startBoth();
    helper.send(write(lamp));
    helper.send(write('C0:DE:00:00:00:99'));
    helper.send(write(breaking));
    helper.send(write(breaking));
    const got = [];
    while (got.length < 4) got.push(await helper.next('write_result'));
    assert.deepEqual(
      got.map(({ address, ok, error }) => [address, ok, error]),
      [
        [lamp, true, undefined],
        ['C0:DE:00:00:00:99', false, 'not_found'],
        [breaking, false, 'disconnected'],
        [breaking, true, undefined],
      ],
    );
    assert.equal(radio.find(lamp).advertisement(), null);
    await until('the lamp runs', () => stateOf(radio, lamp) === 'running');
  });

  it('refuses what real devices and adapters refuse, and says why', async () => {
    const { radio, helper } = await startBoth();
    const fails = async (command: object, error: string): Promise<void> => {
      helper.send(command);
      assert.equal((await helper.next('write_result')).error, error);
    };
    await fails(write(lamp, 'ї'.repeat(257)), 'payload_invalid');
    await fails({ ...write(lamp), service_uuid: improvServiceUuid }, 'service_missing');
    await fails({ ...write(lamp), characteristic_uuid: improvCommandUuid }, 'characteristic_missing');
    radio.setFaults(lamp, { refusesConnections: true });
    await fails(write(lamp), 'connect_failed');
    radio.setAdapter('adapter_off');
    await fails(write(breaking), 'adapter_off');
    assert.equal(radio.find(breaking).report().writes, 0);
  });

  it('a payload that the firmware cannot read is acknowledged and dropped: the device advertises on', async () => {
    const { radio, helper } = await startBoth();
    helper.send(write(lamp, 'no JSON'));
    assert.equal((await helper.next('write_result')).ok, true);
    assert.equal(stateOf(radio, lamp), 'waiting');
    assert.match(radio.find(lamp).report().lastFailure ?? '', /could not read/);
  });

  it('a wrong Wi-Fi password: the device tries to join, gives up and advertises again', async () => {
    const { radio, helper } = await startBoth();
    const joining = until('the lamp tries to join', () => stateOf(radio, lamp) === 'joining');
    helper.send(write(lamp, payload.replace('correct-horse', 'wrong-horse')));
    assert.equal((await helper.next('write_result')).ok, true);
    await joining;
    await until('the lamp waits', () => stateOf(radio, lamp) === 'waiting');
    assert.match(radio.find(lamp).report().lastFailure ?? '', /could not join the network “Home”/);
  });

  it('Improv: wrong credentials are told, right ones lead to its own page, whose login it then uses', async () => {
    const { radio, helper } = await startBoth();
    const command = (password: string) => ({
      ...write(improv, JSON.stringify({ ssid: home.ssid, password })),
      service_uuid: improvServiceUuid,
      characteristic_uuid: improvCommandUuid,
    });
    radio.setFaults(improv, { needsButton: true });
    helper.send(command(home.password));
    assert.equal((await helper.next('write_result')).error, 'improv_not_authorized');
    radio.setFaults(improv, { needsButton: false });
    helper.send(command('wrong-horse'));
    assert.equal((await helper.next('write_result')).error, 'improv_wrong_credentials');
    helper.send(command(home.password));
    assert.equal((await helper.next('write_result')).ok, true);
    const { pageUrl } = radio.find(improv).report();
    assert.ok(pageUrl !== null);
    const { ssid: _, password: __, ...login } = JSON.parse(payload) as Record<string, string>;
    const enter = (body: Record<string, string>): Promise<Response> =>
      fetch(pageUrl, { method: 'POST', body: new URLSearchParams(body) });
    assert.equal((await enter({ ...login, device_token: '' })).status, 400);
    assert.equal((await enter(login)).status, 200);
    await until('the Improv device runs', () => stateOf(radio, improv) === 'running');
  });

  it('devices remember their login over a restart, and forget it when their button is pressed', async () => {
    const { radio, helper } = await startBoth({ folder });
    helper.send(write(lamp));
    await helper.next('write_result');
    await until('the lamp runs', () => stateOf(radio, lamp) === 'running');
    await radio[Symbol.asyncDispose]();
    const again = await startRadio({ folder });
    assert.equal(stateOf(again, lamp), 'running');
    await again.find(lamp).reset();
    assert.equal(stateOf(again, lamp), 'waiting');
  });

  it('tells every change of the adapter, and the scan goes on when it is back', async () => {
    const { radio, helper } = await startBoth();
    helper.send(scan);
    await helper.next('scan_started');
    for (const state of ['adapter_missing', 'adapter_blocked', 'bluetooth_stopped'] as const) {
      radio.setAdapter(state);
      await until('the state is noted', () =>
        helper.notes.some((note) => note.note === 'radio' && note.state === state),
      );
    }
    await helper.next('scan_stopped');
    radio.setAdapter('ready');
    await helper.next('scan_started');
    await helper.next('discovered');
  });

  it('a radio that restarts: pending writes fail once, the helper stays and scans on', async () => {
    const { radio, helper } = await startBoth();
    radio.setFaults(lamp, { writeMs: 10_000_000 });
    helper.send(scan);
    await helper.next('scan_started');
    helper.send(write(lamp));
    helper.send(write(breaking));
    await delay(50);
    await radio[Symbol.asyncDispose]();
    for (let i = 0; i < 2; i++) assert.equal((await helper.next('write_result')).error, 'bluetooth_stopped');
    helper.send(write(lamp));
    assert.equal((await helper.next('write_result')).error, 'bluetooth_stopped');
    await startRadio();
    await helper.next('scan_started');
    assert.equal(helper.events.filter(({ event }) => event === 'write_result').length, 3);
  });

  it('the helper reports lines that are no commands without repeating them, and can be made to crash', async () => {
    const { radio, helper } = await startBoth();
    for (const line of ['{', '[]', '{"event":"start_scan"}', '"secret"', `"${'a'.repeat(70_000)}"`]) helper.send(line);
    await until('all lines are ignored', () => helper.notes.filter(({ note }) => note === 'line_ignored').length === 5);
    assert.doesNotMatch(JSON.stringify(helper.notes), /secret/);
    await radio.crashHelper();
    assert.equal(await helper.ended, 'SIGKILL');
  });

  it('the same seed breaks the same connections', async () => {
    const run = async (seed: string): Promise<string> => {
      const plans = crowd(12, 100).map((plan) => ({ ...plan, faults: { disconnectShare: 0.6, writeMs: 1 } }));
      await using radio = await startVirtualRadio({
        socketPath: join(folder, `${seed}.sock`),
        networks: [home],
        plans,
        seed,
        speed: 1_000,
      });
      await using helper = startHelper(radio.socketPath);
      await helper.next('ready');
      await until('the helper connects', () => radio.helpers().connected === 1);
      let results = '';
      for (const { address } of plans) {
        helper.send(write(address));
        results += (await helper.next('write_result')).ok ? 'y' : 'n';
      }
      return results;
    };
    const first = await run('one');
    assert.equal(await run('one'), first);
    assert.notEqual(await run('two'), first);
  });

  it('a crowd advertises 1,000 times a second', async () => {
    const { radio, helper } = await startBoth({ plans: crowd(200, 1_000) });
    helper.send(scan);
    const heard = () => helper.events.flatMap((one) => (one.event === 'discovered' ? [one.address] : []));
    await until('3,000 advertisements', () => heard().length >= 3_000);
    assert.equal(new Set(heard()).size, radio.peripherals.length);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { Candidate, RadioReport } from '@station/protocol/provisioning';
import { advertisement, type RemoteHelper, remoteHelper, untilScanning } from '../../testing/remote-helper.ts';
import { readMetrics, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

type Browser = {
  /** What this client would show. */
  candidates: Map<string, Candidate>;
  radio: RadioReport | null;
  /** Messages about candidates since it connected. */
  told: string[];
  leave(): Promise<void>;
};

async function connect({ backend }: RunningBackend, token: string): Promise<Browser> {
  const socket = new WebSocket(`${backend.url.replace('http', 'ws')}/ws`);
  const browser: Browser = {
    candidates: new Map(),
    radio: null,
    told: [],
    leave: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
  let hasHello = false;
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as { type: string } & Record<string, unknown>;
    if (message.type === 'hello') hasHello = true;
    if (message.type === 'provisioning_radio') browser.radio = message['radio'] as RadioReport;
    if (message.type === 'provisioning_candidate') {
      const candidate = message['candidate'] as Candidate;
      browser.candidates.set(candidate.address, candidate);
      browser.told.push(candidate.name);
    }
    if (message.type === 'provisioning_candidate_lost') browser.candidates.delete(String(message['address']));
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await until('the client is logged in', () => hasHello);
  return browser;
}

type World = { running: RunningBackend; helper: RemoteHelper; browsers: Browser[]; enter(): Promise<Browser> };

const names = (browser: Browser): string[] => [...browser.candidates.values()].map(({ name }) => name).sort();
const scans = ({ commands }: RemoteHelper): string[] => commands.map(({ event }) => event);

/** The table of the specification, "BLE scan lifecycle": one row a case. */
const rows: { state: string; trigger: string; next: string; given: number; run: (world: World) => Promise<void> }[] = [
  {
    state: 'scan stopped',
    trigger: 'the first client connects',
    next: 'the scan starts',
    given: 0,
    run: async ({ helper, enter }) => {
      assert.equal(helper.starts(), 0, 'without a client there is no helper');
      const browser = await enter();
      await untilScanning(helper);
      await until('the client sees that it scans', () => browser.radio?.state === 'scanning');
      assert.deepEqual(scans(helper), ['start_scan']);
    },
  },
  {
    state: 'scanning',
    trigger: 'another client connects',
    next: 'it gets the current candidates, and the scan continues',
    given: 1,
    run: async ({ helper, browsers: [first], enter }) => {
      helper.send(advertisement());
      helper.send(advertisement({ address: 'C0:FF:EE:00:00:02', name: 'climate-77' }));
      await until('the first client sees both', () => first!.candidates.size === 2);
      const second = await enter();
      await until('the second client sees both', () => second.candidates.size === 2);
      assert.deepEqual(names(second), names(first!));
      assert.equal(second.radio?.state, 'scanning');
      assert.equal(first!.told.length, 2, 'only the new client gets the replay');
      assert.deepEqual(scans(helper), ['start_scan']);
    },
  },
  {
    state: 'scanning',
    trigger: 'a client leaves, others stay',
    next: 'the scan continues, and the candidates stay',
    given: 2,
    run: async ({ running, helper, browsers: [first, second], enter }) => {
      helper.send(advertisement());
      await until('both see the device', () => first!.candidates.size + second!.candidates.size === 2);
      await first!.leave();
      await until('one client is left', async () => (await clients(running)) === 1);
      const third = await enter();
      await until('a new client gets the device', () => third.candidates.size === 1);
      assert.deepEqual(scans(helper), ['start_scan']);
    },
  },
  {
    state: 'scanning',
    trigger: 'a device that waited was added',
    next: 'it waits no more; if it still advertises, it is shown as a device of the station',
    given: 1,
    run: async ({ running, helper, browsers: [first] }) => {
      helper.send(advertisement());
      await until('the client sees the device', () => first!.candidates.size === 1);
      const [{ externalId } = { externalId: '' }] = first!.candidates.values();
      running.backend.deviceEvents.emit({ kind: 'added', deviceId: 'd1', externalId });
      await until('the client sees it no more', () => first!.candidates.size === 0);
      helper.send(advertisement());
      await until('it is back', () => first!.candidates.size === 1);
      assert.equal([...first!.candidates.values()][0]?.deviceId, 'd1');
    },
  },
  {
    state: 'scanning',
    trigger: 'the last client leaves',
    next: 'the scan stops, and the cache is cleared',
    given: 1,
    run: async ({ running, helper, browsers: [first], enter }) => {
      helper.send(advertisement());
      await until('the client sees the device', () => first!.candidates.size === 1);
      await first!.leave();
      await until('the scan was stopped', () => !helper.isScanning());
      // Still under way when the scan stopped. The line after it tells when the backend has read it.
      helper.send(advertisement({ address: 'C0:FF:EE:00:00:03' }));
      helper.sendText('not a frame\n');
      await until('it was read', () => running.logger.events('ble_helper_line_ignored').length === 1);
      const next = await enter();
      await until('the scan was started again', () => scans(helper).length === 3);
      helper.send(advertisement({ address: 'C0:FF:EE:00:00:04', name: 'pir-1' }));
      await until('it sees a device', () => next.candidates.size > 0);
      assert.deepEqual(names(next), ['pir-1'], 'nothing is left of what was found before');
      helper.send(advertisement());
      await until('what was found before is told as found now', () => next.candidates.size === 2);
      assert.deepEqual(scans(helper), ['start_scan', 'stop_scan', 'start_scan']);
      assert.equal(helper.starts(), 1, 'the helper was not ended so soon');
    },
  },
  {
    state: 'scanning',
    trigger: 'a device is discovered',
    next: 'it is cached, and every client is told',
    given: 2,
    run: async ({ helper, browsers: [first, second] }) => {
      helper.send(advertisement());
      await until('both clients see it', () => first!.candidates.size + second!.candidates.size === 2);
      const candidate = [...second!.candidates.values()][0]!;
      const { lastSeenAt, ...rest } = candidate;
      assert.match(lastSeenAt, /^\d{4}-.*Z$/);
      assert.deepEqual(rest, {
        address: 'C0:FF:EE:00:00:01',
        name: 'SH_light_3f2a',
        rssi: -60,
        service_uuids: ['85e4cb5a-4718-47e3-b363-b2d82655ee1e'],
        service_data: {},
        protocol: 'station',
        externalId: '3f2a',
        deviceType: 'light',
        defaultName: 'Light 3F2A',
        deviceId: null,
      });
      helper.send(advertisement({ name: 'SH_pir_3f2a' }));
      await until('a change is told', () => names(first!)[0] === 'SH_pir_3f2a');
      helper.send(advertisement({ name: 'other', service_uuids: ['0000180f-0000-1000-8000-00805f9b34fb'] }));
      await until('a device that does not wait any more is dropped', () => first!.candidates.size === 0);
    },
  },
];

const clients = async ({ backend }: RunningBackend): Promise<number> => {
  const text = await readMetrics(backend);
  return Number(/station_socket_clients (\d+)/.exec(text)?.[1]);
};

for (const { state, trigger, next, given, run } of rows) {
  test(`${state}; ${trigger}: ${next}`, async () => {
    await using helper = await remoteHelper();
    await using running = await runBackend({ env: helper.env });
    const { accessToken } = await running.setUp();
    const enter = (): Promise<Browser> => connect(running, accessToken);
    const browsers: Browser[] = [];
    for (let count = 0; count < given; count++) browsers.push(await enter());
    if (given > 0) {
      await untilScanning(helper);
      await until('all see that it scans', () => browsers.every(({ radio }) => radio?.state === 'scanning'));
    }
    await run({ running, helper, browsers, enter });
  });
}

test('a scan resumes after the helper died, and the candidates stay', async () => {
  await using helper = await remoteHelper();
  await using running = await runBackend({ env: helper.env });
  const { accessToken } = await running.setUp();
  const browser = await connect(running, accessToken);
  await untilScanning(helper);
  helper.send(advertisement());
  await until('the client sees the device', () => browser.candidates.size === 1);
  helper.stop();
  await until('another helper scans', () => helper.starts() === 2 && helper.isScanning());
  await until('the client sees that it scans', () => browser.radio?.state === 'scanning');
  assert.equal(browser.candidates.size, 1);
  assert.equal(running.logger.events('ble_helper_failed').length, 1);
});

test('without a helper the radio is disabled, and clients see it', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const browser = await connect(running, accessToken);
  await until('the client sees the reason', () => browser.radio !== null);
  assert.deepEqual(browser.radio, { state: 'unavailable', reason: 'disabled' });
});

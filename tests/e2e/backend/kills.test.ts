import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { extent } from '../../rig/extent.ts';
import { latestState } from '../../rig/latest-state.ts';
import { waitFor } from '../../rig/program.ts';
import { createRandom } from '../../faults/choice.ts';
import { install, kinds, stationId, type Installation } from './installation.ts';
import { startNumberedDevice, type NumberedDevice } from './numbered-device.ts';

/** Number of devices of each kind. */
const kills = extent(10, 50);
const deviceCount = 4;
/** Numbers of each device between two kills. Low enough that the backend has no backlog. */
const numbersPerKill = 120;
const timeoutMs = 60_000;

type Stored = { events: Map<string, Set<number>>; states: Map<string, number> };

/** Contents of the database by external id: the numbers of events, and the number in the latest state. */
async function readStored(station: Installation): Promise<Stored> {
  const events = new Map<string, Set<number>>();
  const rows = await station.query<{ name: string; data: string }>(
    'select external_id as name, data from device_events join devices on devices.id = device_id',
  );
  for (const { name, data } of rows) {
    const numbers = events.get(name) ?? new Set();
    events.set(name, numbers.add((JSON.parse(data) as { n: number }).n));
  }
  const state = station.env['DATABASE_URL'] === undefined ? latestState : 'state';
  const devices = await station.query<{ name: string; state: string }>(
    `select external_id as name, ${state} as state from devices`,
  );
  const numberOf = (state: string): number => (JSON.parse(state) as { n?: number }).n ?? -1;
  return { events, states: new Map(devices.map(({ name, state }) => [name, numberOf(state)])) };
}

/** The acknowledged numbers that are missing from the database, as text. */
function lostOf(devices: readonly NumberedDevice[], { events, states }: Stored): string[] {
  return devices.flatMap((device) => {
    const { externalId, acknowledged } = device;
    const missing = acknowledged.difference(events.get(externalId) ?? new Set<number>());
    const state = states.get(externalId) ?? -1;
    return [
      ...[...missing].map((n) => `${externalId}: event ${n}`),
      ...(state < device.acknowledgedState()
        ? [`${externalId}: state ${device.acknowledgedState()}, has ${state}`]
        : []),
    ];
  });
}

// The last is the stack as it is shipped.
for (const kind of [...kinds, 'Mosquitto and SQLite'] as const) {
  describe(`${kills} times SIGKILL of the backend under load, on ${kind}`, { timeout: 600_000 }, () => {
    it('loses no message that was acknowledged at QoS 1', async (test: TestContext) => {
      await using station = await install(kind, { devices: deviceCount });
      const random = createRandom(7);
      await station.startBackend();
      await using stack = new AsyncDisposableStack();
      const devices = station.logins.map((login) => stack.use(startNumberedDevice(station.mqttUrl, stationId, login)));
      const acknowledged = (): number => devices.reduce((sum, device) => sum + device.acknowledged.size, 0);
      const underWay = (): number => devices.reduce((sum, device) => sum + device.underWay(), 0);
      let met = 0;
      for (let kill = 0; kill < kills; kill++) {
        const enough = acknowledged() + 1 + Math.floor(random() * (numbersPerKill - 30) * deviceCount);
        for (const device of devices) device.allow(numbersPerKill);
        await waitFor('more acknowledgements', () => acknowledged() >= enough || null, timeoutMs);
        const wasUnderWay = underWay();
        await station.stopBackend('SIGKILL');
        const stored = await readStored(station);
        const lost = lostOf(devices, stored);
        if (wasUnderWay > 0 || lost.length > 0) met += 1;
        // With the embedded broker, acknowledged messages are on disk. Mosquitto still has the rest.
        if (station.mosquitto === null) assert.deepEqual(lost, [], `kill ${kill}`);
        await station.startBackend();
      }
      await Promise.all(devices.map((device) => device.finish()));
      const acknowledgedCount = acknowledged();
      const isComplete = async (): Promise<true | null> =>
        lostOf(devices, await readStored(station)).length === 0 || null;
      // Mosquitto keeps the messages that it acknowledged for the backend.
      if (station.mosquitto !== null)
        await waitFor('all messages to be written', isComplete, timeoutMs).catch(() => undefined);
      const stored = await readStored(station);
      assert.deepEqual(lostOf(devices, stored).slice(0, 20), []);
      for (const device of devices) {
        assert.equal(
          stored.states.get(device.externalId),
          device.acknowledgedState(),
          'the stored state is the last one that was sent',
        );
      }
      assert.ok(met > kills / 2, `only ${met} kills interrupted messages`);
      assert.deepEqual(await station.logged('not a log line'), []);
      test.diagnostic(
        `${kills} kills, ${acknowledgedCount} events and as many states acknowledged, ${met} kills interrupted some, none lost`,
      );
    });
  });
}

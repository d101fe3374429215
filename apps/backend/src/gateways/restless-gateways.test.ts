import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ForeignDevices, ForeignReading } from '../core/foreign-devices-port.ts';
import { until } from '../../testing/until.ts';
import { openedGateways } from '../../testing/gateways/opened-gateways.ts';
import { announcement, colourLamp } from '../../testing/gateways/announcements.ts';

const say = ({ read }: Pick<ForeignDevices, 'read'>, end: string, body: unknown): ForeignReading => {
  const payload = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return read({ topic: `zigbee2mqtt/bridge/${end}`, payload, isRetained: false });
};

const list = (from: number, to: number): object[] => [
  { type: 'Coordinator' },
  ...Array.from({ length: to - from }, (_, at) => ({
    ...announcement({ definition: colourLamp }),
    ieee_address: `0x${(from + at).toString(16).padStart(16, '0')}`,
    friendly_name: `lamp ${from + at}`,
  })),
];

async function readAll(first: ForeignReading): Promise<void> {
  for (let reading: ForeignReading | undefined = first; reading !== undefined; reading = reading.next?.())
    await reading.stored;
}

async function houseOf() {
  const heard: ForeignReading[] = [];
  const opened = await openedGateways({ hear: (read) => void heard.push(read()) });
  await opened.gateways.add({ name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' });
  return { ...opened, heard };
}

test('a gateway that comes and goes a thousand times in a row tells its devices once', async () => {
  await using house = await houseOf();
  const { foreign, heard } = house;
  await readAll(say(foreign, 'devices', list(0, 5)));
  for (let count = 0; count < 1_000; count++) {
    const { messages } = say(foreign, 'state', count % 2 === 0 ? 'online' : 'offline');
    assert.equal(messages.length, 0);
  }
  await until('they are told', () => heard.length > 0);
  const bodies = heard.flatMap(({ messages }) => messages).map(({ end, body }) => [end, body]);
  assert.deepEqual(
    bodies,
    Array.from({ length: 5 }, () => ['heartbeat', { status: 'offline' }]),
  );
});

test('a gateway whose whole network was replaced announces a new device a minute', async () => {
  await using house = await houseOf();
  const { foreign, gateways } = house;
  const remove = (lamp: number) =>
    readAll(say(foreign, 'response/device/remove', { status: 'ok', data: { id: `lamp ${lamp}` } }));
  await readAll(say(foreign, 'devices', list(0, 500)));
  for (let lamp = 0; lamp < 500; lamp++) await remove(lamp);
  await readAll(say(foreign, 'devices', list(500, 1_000)));
  const refusals = async () => (await gateways.list())[0]?.notSupported.map(({ name, reason }) => `${name}: ${reason}`);
  assert.deepEqual(await refusals(), []);
  for (const lamp of [500, 501]) await remove(lamp);
  await readAll(say(foreign, 'devices', list(502, 1_002)));
  assert.deepEqual(await refusals(), ['lamp 1000: no_room', 'lamp 1001: no_room']);
  assert.ok(foreign.isForeign('zigbee2mqtt:0x0000000000000258'), 'those that are known stay');
});

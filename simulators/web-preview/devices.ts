import type { FastifyInstance } from 'fastify';
import type { CommandRequest } from '@station/protocol/device-commands';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { readDeviceType } from '@station/protocol/device-types';
import type { Device, DeviceEvent, DevicePatch, Favourites, Zone, ZoneOrder } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import { historyOf } from './history.ts';
import { ago } from './scenes.ts';

/** Behaviour of the simulated devices: `slow` confirms late, `deaf` never confirms, `fault`: the list cannot be read. */
export const deviceMoods = ['some', 'none', 'deaf', 'slow', 'refuse', 'fault', 'loading'] as const;
type DeviceMood = (typeof deviceMoods)[number];

const minute = 60_000;
const id = (group: number, number: number): string => `019a9d2f-000${group}-7000-8000-00000000000${number}`;

/** Of its first six devices. */
export const previewDeviceIds: readonly string[] = [1, 2, 3, 4, 5, 6].map((number) => id(2, number));

export const zones = (): Zone[] => [
  { id: id(1, 1), name: 'Hall' },
  { id: id(1, 2), name: 'Living room' },
];

function device(number: number, type: string, name: string, zone: number | null, more: Partial<Device>): Device {
  return {
    id: id(2, number),
    externalId: `${type}-a1b2c${number}`,
    type,
    name,
    zoneId: zone === null ? null : id(1, zone),
    status: 'online',
    statusAt: ago(90 * minute),
    lastSeenAt: ago(minute / 3),
    state: {},
    stateAt: ago(2 * minute),
    stateTimes: {},
    fault: null,
    dropped: null,
    firmwareVersion: '1.4.2',
    chip: 'esp32-c3',
    createdAt: ago(40 * 24 * 60 * minute),
    ...more,
  };
}

const someDevices = (): Device[] => [
  device(1, 'light', 'Ceiling light', 2, { state: { on: true, brightness: 64 } }),
  device(2, 'climate', 'By the window', 2, {
    state: { temperature: 21.4, humidity: 45, pressure: 1013, battery: 83 },
    stateTimes: { humidity: ago(130 * minute), battery: ago(26 * 60 * minute) },
  }),
  device(3, 'light', 'Reading lamp', 2, { state: { on: false, brightness: 30 } }),
  device(4, 'switch-pir', 'Hall switch', 1, {
    state: { motion: false },
    fault: { code: 'bad_value', at: ago(minute), count: 12 },
  }),
  device(5, 'pir', 'Front door', 1, { state: { motion: true } }),
  device(6, 'climate', 'Balcony', null, {
    state: { temperature: -3, humidity: 81, pressure: 1002 },
    status: 'offline',
    statusAt: ago(130 * minute),
    lastSeenAt: ago(133 * minute),
  }),
  device(7, 'kettle', 'Kettle', null, { state: { water: 0.8, hot: false }, status: 'online' }),
  device(8, 'pir', 'Cellar', null, { status: 'unknown', stateAt: null, lastSeenAt: null }),
  device(9, 'fan', 'Bedroom fan', 2, { state: { mode: 'quiet', speed: 2, on: true, airflow: 41 } }),
];

/** So many devices in zones of twenty: lamps, sensors and motion in turn. */
function manyDevices(count: number): { devices: Device[]; rooms: Zone[] } {
  const idOf = (group: number, number: number): string =>
    `019a9d2f-000${group}-7000-8001-${`${number}`.padStart(12, '0')}`;
  const rooms = Array.from({ length: Math.ceil(count / 20) }, (_, index) => ({
    id: idOf(1, index),
    name: `Zone ${index + 1}`,
  }));
  const devices = Array.from({ length: count }, (_, index): Device => {
    const [type, state] = (
      [
        ['light', { on: index % 2 === 0, brightness: 50 }],
        ['climate', { temperature: 20, humidity: 45 }],
        ['pir', { motion: false }],
      ] as const
    )[index % 3] ?? ['light', {}];
    const zoneId = idOf(1, Math.floor(index / 20));
    return { ...device(1, type, `Device ${index + 1}`, null, { state }), id: idOf(2, index), zoneId };
  });
  return { devices, rooms };
}

/** A type as a file of the station's owner would describe it. */
const fan = readDeviceType({
  type: 'fan',
  icon: 'fan',
  names: { en: 'Ceiling fan', uk: 'Вентилятор' },
  capabilities: [
    {
      key: 'mode',
      kind: 'enum',
      values: ['auto', 'quiet', 'high'],
      names: { en: 'Mode', uk: 'Режим' },
      valueNames: {
        auto: { en: 'Automatic', uk: 'Автоматичний' },
        quiet: { en: 'Quiet', uk: 'Тихий' },
        high: { en: 'High', uk: 'Швидкий' },
      },
    },
    { key: 'speed', kind: 'number', min: 0, max: 5, step: 1, names: { en: 'Speed', uk: 'Швидкість' } },
    {
      key: 'on',
      kind: 'boolean',
      names: { en: 'Fan', uk: 'Вентилятор' },
      valueNames: { true: { en: 'On', uk: 'Увімкнено' }, false: { en: 'Off', uk: 'Вимкнено' } },
    },
    { key: 'airflow', kind: 'number', unit: 'm³/h', names: { en: 'Airflow', uk: 'Потік повітря' } },
  ],
  commands: [
    { action: 'turn_on', sets: { on: true }, confirmedBy: ['on'], repeatable: true },
    { action: 'turn_off', sets: { on: false }, confirmedBy: ['on'], repeatable: true },
    {
      action: 'set_mode',
      params: { type: 'object', properties: { mode: { type: 'string', enum: ['auto', 'quiet', 'high'] } } },
      confirmedBy: ['mode'],
      repeatable: true,
    },
    {
      action: 'set_speed',
      params: { type: 'object', properties: { speed: { type: 'integer', minimum: 0, maximum: 5 } } },
      confirmedBy: ['speed'],
      repeatable: true,
    },
    { action: 'clean', confirmedBy: [], repeatable: true, names: { en: 'Clean the filter', uk: 'Очистити фільтр' } },
  ],
  events: [],
  primary: { capability: 'on', command: 'turn_on' },
});
const types = [...builtInDeviceTypes, ...(fan.kind === 'ok' ? [fan.deviceType] : [])];

/** Values of one day that look like weather or like a person's presence. */
const eventsOf = (deviceId: string): DeviceEvent[] =>
  ['motion_cleared', 'motion_detected', 'button_press', 'motion_cleared', 'motion_detected'].map((action, n) => ({
    id: id(3, n + 1),
    deviceId,
    kind: 'device_event',
    data: { action },
    at: ago((4 + n * 47) * minute),
  }));

export type DeviceDouble = {
  setMood(mood: DeviceMood): void;
  /** So many of the devices report a new state each second, one after the other, until the returned function is called. */
  talk(perSecond: number): () => void;
};

/** The routes of devices and zones. The mood decides how devices answer. */
export function addDevices(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
  /** Of devices; null: the usual ones. */
  count: number | null,
): DeviceDouble {
  let mood: DeviceMood = 'some';
  let { devices, rooms } = count === null ? { devices: someDevices(), rooms: zones() } : manyDevices(count);
  const change = (deviceId: string, more: Partial<Device>): Device | undefined => {
    devices = devices.map((one) => (one.id === deviceId ? { ...one, ...more } : one));
    return devices.find((one) => one.id === deviceId);
  };

  app.get('/api/device-types', () => types);
  app.get('/api/zones', () => rooms);
  app.get('/api/scenes', () => []);
  let favourites: Favourites = { deviceIds: [] };
  app.get('/api/favourites', () => favourites);
  app.put<{ Body: Favourites }>('/api/favourites', (request) => (favourites = request.body));
  app.put<{ Body: ZoneOrder }>('/api/zones/order', async (request, reply) => {
    const { ids } = request.body;
    rooms = rooms.toSorted((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
    return reply.code(204).send();
  });
  app.post<{ Body: { name: string } }>('/api/zones', async (request, reply) => {
    const zone = { id: id(1, rooms.length + 1), name: request.body.name.trim() };
    rooms = [...rooms, zone];
    return reply.code(201).send(zone);
  });
  app.patch<{ Params: { id: string }; Body: { name: string } }>('/api/zones/:id', (request) => {
    const changed = { id: request.params.id, name: request.body.name.trim() };
    rooms = rooms.map((zone) => (zone.id === changed.id ? changed : zone));
    return changed;
  });
  app.delete<{ Params: { id: string } }>('/api/zones/:id', async (request, reply) => {
    rooms = rooms.filter((zone) => zone.id !== request.params.id);
    return reply.code(204).send();
  });
  app.get('/api/devices', async (_request, reply) => {
    if (mood === 'loading') await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (mood === 'fault')
      return reply.code(500).send({ statusCode: 500, error: 'Error', code: 'internal', message: '' });
    return mood === 'none' ? [] : devices;
  });
  app.patch<{ Params: { id: string }; Body: DevicePatch }>('/api/devices/:id', (request) => {
    const { name, zoneId } = request.body;
    return change(request.params.id, {
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(zoneId === undefined ? {} : { zoneId }),
    });
  });
  app.delete<{ Params: { id: string } }>('/api/devices/:id', (request) => {
    devices = devices.filter((one) => one.id !== request.params.id);
    broadcast({ type: 'device_removed', at: ago(0), deviceId: request.params.id });
    return { told: true, loginUntil: ago(-30 * 24 * 60 * minute) };
  });
  app.get<{ Params: { id: string } }>('/api/devices/:id/events', (request) => eventsOf(request.params.id));
  app.get('/api/activity', (): DeviceEvent[] => [
    {
      id: id(3, 9),
      deviceId: null,
      kind: 'notification',
      data: { message: 'Open the window', automationId: id(5, 3), automationName: 'Too warm' },
      at: ago(minute),
    },
    ...devices.slice(0, 3).flatMap((one) => eventsOf(one.id)),
  ]);
  app.get<{ Querystring: { capability: string; from: string; to?: string } }>('/api/devices/:id/history', ({ query }) =>
    historyOf(query.capability, Date.parse(query.from), query.to === undefined ? Date.now() : Date.parse(query.to)),
  );

  let commands = 0;
  app.post<{ Params: { id: string }; Body: CommandRequest }>('/api/devices/:id/command', async (request, reply) => {
    const { action, params = {} } = request.body;
    const command = { commandId: `command-${++commands}`, deviceId: request.params.id, action, reason: null };
    const end = (status: 'confirmed' | 'expired'): void => {
      if (status === 'confirmed') {
        const before = devices.find((one) => one.id === command.deviceId);
        const { sets = {} } =
          types.find(({ type }) => type === before?.type)?.commands.find((one) => one.action === action) ?? {};
        const changed = change(command.deviceId, { state: { ...before?.state, ...sets, ...params }, stateAt: ago(0) });
        const state = changed?.state ?? {};
        broadcast({
          type: 'device_state',
          at: ago(0),
          deviceId: command.deviceId,
          state,
          stateAt: ago(0),
          stateTimes: {},
        });
      }
      broadcast({ type: 'device_command', at: ago(0), ...command, status });
    };
    if (mood === 'refuse') return reply.code(202).send({ ...command, status: 'failed' });
    setTimeout(() => end(mood === 'deaf' ? 'expired' : 'confirmed'), { slow: 3_000, deaf: 2_500 }[String(mood)] ?? 120);
    return reply.code(202).send({ ...command, status: 'pending' });
  });

  return {
    setMood: (next) => {
      mood = next;
      devices = someDevices();
      rooms = zones();
    },
    talk: (perSecond) => {
      let turn = 0;
      const timer = setInterval(() => {
        const one = devices[turn++ % devices.length];
        if (one === undefined) return;
        // Not the same again in the next round, whatever the number of devices.
        const step = turn + Math.floor(turn / devices.length);
        const { temperature } = one.state;
        const state =
          typeof temperature === 'number'
            ? { ...one.state, temperature: 18 + (step % 60) / 10 }
            : { ...one.state, motion: step % 2 === 0, brightness: step % 100 };
        change(one.id, { state, stateAt: ago(0) });
        broadcast({ type: 'device_state', at: ago(0), deviceId: one.id, state, stateAt: ago(0), stateTimes: {} });
      }, 1_000 / perSecond);
      return () => clearInterval(timer);
    },
  };
}

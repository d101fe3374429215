import type { FastifyInstance, FastifyReply } from 'fastify';
import type {
  Candidate,
  ManualAdd,
  Provisioning,
  ProvisioningAdd,
  ProvisioningView,
  RadioReport,
} from '@station/protocol/provisioning';
import type { ServerMessage } from '@station/protocol/socket';
import { ago } from './scenes.ts';

const radioMoods = [
  'adapter_missing',
  'adapter_off',
  'adapter_blocked',
  'bluetooth_stopped',
  'helper_failed',
  'disabled',
  'hotspot_in_use',
  'joining',
] as const;

/** `near`: devices are found. `adding`, `failed`, `added`: cards in these states. `no_wifi`: the station knows no network. Others: the radio. */
export const provisioningMoods = [
  'near',
  'nothing',
  'starting',
  'adding',
  'failed',
  'added',
  'no_wifi',
  'fault',
  'loading',
  ...radioMoods,
] as const;
type ProvisioningMood = (typeof provisioningMoods)[number];

const id = (number: number): string => `019a9d2f-000c-7000-8000-0000000000${String(number).padStart(2, '0')}`;
const failure = (statusCode: number, code: string) => ({ statusCode, error: 'Error', code, message: '' });

function candidate(number: number, type: string | null, rssi: number, more: Partial<Candidate> = {}): Candidate {
  const externalId = `c0ffe${number}`;
  return {
    address: `AA:BB:CC:DD:EE:0${number}`,
    name: type === null ? '' : `SH_${type}_${externalId}`,
    rssi,
    service_uuids: [],
    service_data: {},
    protocol: 'station',
    externalId,
    deviceType: type,
    defaultName: `${type ?? 'Device'} ${externalId}`,
    deviceId: null,
    lastSeenAt: ago(0),
    ...more,
  };
}

const someCandidates = (yours: string): Candidate[] => [
  candidate(1, 'light', -48, { defaultName: 'Light fe1' }),
  candidate(2, 'climate', -71, { defaultName: 'Climate fe2' }),
  candidate(3, 'switch-pir', -88, { defaultName: 'Switch with motion sensor fe3' }),
  candidate(4, null, -60, { protocol: 'improv', defaultName: 'Garden pump' }),
  candidate(5, 'light', -66, { deviceId: yours, defaultName: 'Light fe5' }),
];

function adding(number: number, status: Provisioning['status'], more: Partial<Provisioning> = {}): Provisioning {
  return {
    id: id(number),
    externalId: `add${number}`,
    deviceType: 'light',
    name: `Lamp ${number}`,
    zoneId: null,
    method: 'ble',
    status,
    error: null,
    startedBy: '019a9d2f-0000-7000-8000-000000000001',
    startedAt: ago(60_000 - number * 1_000),
    changedAt: ago(-60_000),
    endsAt: status === 'waiting' ? ago(-42_000) : null,
    deviceId: null,
    ...more,
  };
}

const cards = (mood: ProvisioningMood, deviceId: string): Provisioning[] => {
  if (mood === 'adding') {
    return [
      adding(1, 'waiting', { name: 'Lamp by the bed' }),
      adding(2, 'writing'),
      adding(3, 'queued'),
      adding(4, 'waiting', { method: 'improv', name: 'Garden pump', deviceType: null, endsAt: ago(-3_400_000) }),
      adding(5, 'waiting', { method: 'manual', name: 'Boiler', deviceType: 'climate', endsAt: ago(-3_400_000) }),
    ];
  }
  if (mood === 'failed') {
    return [
      adding(1, 'failed', { error: 'connect_failed' }),
      adding(2, 'timed_out', { name: 'Lamp by the bed' }),
      adding(3, 'failed', { error: 'improv_wrong_credentials', method: 'improv' }),
      adding(4, 'timed_out', { method: 'manual', name: 'Boiler', deviceType: 'climate' }),
    ];
  }
  return mood === 'added' ? [adding(1, 'succeeded', { name: 'Ceiling light', deviceId })] : [];
};

const radioIn = (mood: ProvisioningMood): RadioReport => {
  const reason = radioMoods.find((one) => one === mood) ?? null;
  if (reason === 'hotspot_in_use' || reason === 'joining') return { state: 'paused', reason };
  if (reason !== null) return { state: 'unavailable', reason };
  return { state: mood === 'starting' ? 'starting' : 'scanning', reason: null };
};

/** The routes of adding devices. A device that is added becomes one that is there already, so that its tile is seen. */
export function addProvisioning(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
  deviceIds: readonly string[],
): { setMood(mood: ProvisioningMood): void } {
  const [lamp = '', , reading = ''] = deviceIds;
  let mood: ProvisioningMood = 'near';
  let candidates: Candidate[] = [];
  let all: Provisioning[] = [];
  let last = 10;
  const tell = (changed: Provisioning): Provisioning => {
    const told = { ...changed, changedAt: ago(0) };
    all = [told, ...all.filter((one) => one.id !== told.id)];
    broadcast({ type: 'provisioning_progress', at: ago(0), provisioning: told });
    return told;
  };
  const later = (ms: number, provisioningId: string, more: () => Partial<Provisioning>): void =>
    void setTimeout(() => {
      const found = all.find((one) => one.id === provisioningId);
      if (found && ['queued', 'writing', 'waiting'].includes(found.status)) tell({ ...found, ...more() });
    }, ms).unref();
  const conflict = (reply: FastifyReply) => reply.code(409).send(failure(409, 'conflict'));
  const view = (): ProvisioningView => ({
    radio: radioIn(mood),
    candidates,
    provisionings: all,
    wifi: mood === 'no_wifi' ? null : { ssid: 'Kyiv flat 2.4', isOpen: false },
    broker: { host: '192.0.2.20', port: 1883 },
  });
  // The signal changes all the time.
  setInterval(() => {
    for (const one of candidates) {
      const heard = { ...one, rssi: (one.rssi ?? -70) + Math.round(Math.random() * 6 - 3), lastSeenAt: ago(0) };
      broadcast({ type: 'provisioning_candidate', at: ago(0), candidate: heard });
    }
  }, 1_000).unref();

  app.get('/api/provisioning', async (_request, reply) => {
    if (mood === 'loading') await new Promise((resolve) => setTimeout(resolve, 60_000));
    return mood === 'fault' ? reply.code(500).send(failure(500, 'internal')) : view();
  });
  app.post<{ Body: ProvisioningAdd }>('/api/provisioning/add', async (request, reply) => {
    const { externalId, name, zoneId = null, wifi } = request.body;
    const found = candidates.find((one) => one.externalId === externalId);
    if (!found) return reply.code(404).send(failure(404, 'not_found'));
    if (!wifi && mood === 'no_wifi') return reply.code(409).send(failure(409, 'no_wifi_credentials'));
    const method = found.protocol === 'improv' ? 'improv' : 'ble';
    const { deviceType } = found;
    const made = tell(adding(++last, 'queued', { externalId, deviceType, name: name ?? '', zoneId, method }));
    later(1_000, made.id, () => ({ status: 'writing' }));
    // A weak one cannot be connected to.
    if ((found.rssi ?? 0) < -80) later(3_000, made.id, () => ({ status: 'failed', error: 'connect_failed' }));
    later(3_500, made.id, () => ({ status: 'waiting', endsAt: ago(method === 'ble' ? -60_000 : -3_600_000) }));
    if (method === 'ble') later(6_000, made.id, () => ({ status: 'succeeded', endsAt: null, deviceId: lamp }));
    return reply.code(202).send({ provisioningId: made.id, status: made.status });
  });
  app.post<{ Body: ManualAdd }>('/api/provisioning/manual', async (request, reply) => {
    const made = request.body.devices.map(({ externalId, type, name, zoneId = null }) => {
      const method = 'manual' as const;
      const endsAt = ago(-3_600_000);
      const more = { externalId, deviceType: type, name: name ?? `${type} ${externalId}`, zoneId, method, endsAt };
      return tell(adding(++last, 'waiting', more));
    });
    for (const one of made) later(12_000, one.id, () => ({ status: 'succeeded', endsAt: null, deviceId: reading }));
    return reply.code(201).send(made.map((one) => ({ provisioning: one, login: loginOf(one) })));
  });
  app.post<{ Params: { id: string } }>('/api/provisioning/:id/login', (request, reply) => {
    const found = all.find((one) => one.id === request.params.id);
    return found ? loginOf(found) : conflict(reply);
  });
  app.delete<{ Params: { id: string } }>('/api/provisioning/:id', (request, reply) => {
    const found = all.find((one) => one.id === request.params.id);
    return found ? tell({ ...found, status: 'cancelled' }) : conflict(reply);
  });

  const setMood = (next: ProvisioningMood): void => {
    mood = next;
    candidates = ['near', 'adding', 'added', 'no_wifi', 'joining'].includes(next) ? someCandidates(lamp) : [];
    all = cards(next, lamp);
  };
  setMood(mood);
  return { setMood };
}

const loginOf = ({ externalId }: Provisioning) => ({
  device_id: externalId,
  device_token: 'K3v9m2Qx7pLw4TzR8sYd1FhN6bGc0JuE',
  station_id: '0a4ec1f6-6f0b-4c4e-9d9b-0f1d3f6f7f10',
  mqtt_host: '192.0.2.20',
  mqtt_port: 1883,
});

import type { FastifyInstance } from 'fastify';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Device } from '@station/protocol/devices';
import type { DevicesWifi, DevicesWifiRequest, WifiDeviceState } from '@station/protocol/devices-wifi';
import { wifiDeviceStates } from '@station/protocol/devices-wifi';
import type { ServerMessage } from '@station/protocol/socket';
import type { AcceptUnknownDevice, UnknownDevice } from '@station/protocol/unknown-devices';
import { ago } from './scenes.ts';

/** `offer`: the station's network changed; `moving`, `moved`: the devices change theirs; `foreign`: devices of another station. */
export const attentionMoods = ['none', 'unknown', 'offer', 'moving', 'moved', 'foreign'] as const;
export type AttentionMood = (typeof attentionMoods)[number];

const minute = 60_000;

const unknown = (externalId: string, more: Partial<UnknownDevice>): UnknownDevice => ({
  externalId,
  type: 'light',
  chip: 'esp32c3',
  firmwareVersion: '1.3.0',
  firstSeenAt: ago(50 * minute),
  lastSeenAt: ago(2 * minute),
  blocked: false,
  loginRefused: false,
  contested: false,
  acceptedUntil: null,
  ...more,
});

const someUnknown = (): UnknownDevice[] => [
  unknown('light-77d0f1', {}),
  unknown('c0ffee-unknown', { type: null, chip: null, firmwareVersion: null, loginRefused: true }),
  unknown('climate-13ab02', { type: 'climate', contested: true }),
  unknown('pir-88aa41', { type: 'pir', acceptedUntil: ago(-9 * minute) }),
  unknown('light-neighbour', { blocked: true }),
];

const foreign: BackendCondition = {
  id: 'foreign_station_devices',
  severity: 'warning',
  message: 'Devices publish under the id of another station.',
  since: ago(30 * minute),
  details: { stationIds: ['5b0f8c9e-1111-4c4e-9d9b-0f1d3f6f7f10'], count: 4 },
};

/** The routes of unknown devices, of the backend's conditions and of the devices' Wi-Fi. */
export function addAttention(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
  deviceIds: readonly string[],
): { setMood(mood: AttentionMood): void } {
  let mood: AttentionMood = 'none';
  let unknowns: UnknownDevice[] = [];
  let wifi = wifiIn(mood, deviceIds);
  type One = { Params: { id: string } };
  const change = (externalId: string, more: Partial<UnknownDevice>): UnknownDevice | undefined => {
    unknowns = unknowns.map((one) => (one.externalId === externalId ? { ...one, ...more } : one));
    return unknowns.find((one) => one.externalId === externalId);
  };
  const remove = (externalId: string): void => {
    unknowns = unknowns.filter((one) => one.externalId !== externalId);
  };

  app.get('/api/conditions', () => (mood === 'foreign' ? [foreign] : []));
  app.get('/api/unknown-devices', () => unknowns);
  app.post<One & { Body: AcceptUnknownDevice }>('/api/unknown-devices/:id/accept', async (request, reply) => {
    const { id } = request.params;
    if (unknowns.find((one) => one.externalId === id)?.loginRefused)
      return reply.code(202).send(change(id, { acceptedUntil: ago(-10 * minute) }));
    remove(id);
    return reply.code(201).send({ externalId: id, name: request.body.name } satisfies Partial<Device>);
  });
  app.post<One>('/api/unknown-devices/:id/block', (request) => change(request.params.id, { blocked: true }));
  app.delete<One>('/api/unknown-devices/:id/block', (request) => change(request.params.id, { blocked: false }));
  app.delete<One>('/api/unknown-devices/:id', async (request, reply) => {
    remove(request.params.id);
    return reply.code(204).send();
  });
  const setWifi = (next: DevicesWifi): DevicesWifi => {
    wifi = next;
    broadcast({ type: 'devices_wifi', at: ago(0), ...wifi });
    return wifi;
  };
  app.get('/api/devices/wifi', () => wifi);
  app.post<{ Body: DevicesWifiRequest | null }>('/api/devices/wifi', async (request, reply) => {
    const ssid = request.body?.ssid ?? wifi.stationSsid ?? '';
    return reply.code(202).send(setWifi({ ...wifi, offer: null, change: changeTo(ssid, 'running', deviceIds) }));
  });
  app.post('/api/devices/wifi/cancel', () =>
    setWifi({ ...wifi, change: wifi.change && { ...wifi.change, state: 'cancelled', endedAt: ago(0) } }),
  );
  app.delete('/api/devices/wifi/offer', async (_request, reply) => {
    setWifi({ ...wifi, offer: null });
    return reply.code(204).send();
  });

  return {
    setMood: (next) => {
      mood = next;
      unknowns = next === 'unknown' ? someUnknown() : [];
      wifi = wifiIn(next, deviceIds);
    },
  };
}

function wifiIn(mood: AttentionMood, deviceIds: readonly string[]): DevicesWifi {
  const ssid = 'Kyiv flat 5';
  return {
    stationSsid: ssid,
    offer: mood === 'offer' ? { ssid } : null,
    change:
      mood === 'moving'
        ? changeTo(ssid, 'running', deviceIds)
        : mood === 'moved'
          ? changeTo(ssid, 'ended', deviceIds)
          : null,
  };
}

const running: readonly WifiDeviceState[] = ['followed', 'followed', 'told', 'told', 'waiting', 'offline'];
const ended: readonly WifiDeviceState[] = ['followed', 'followed', 'followed', 'not_followed', 'not_told', 'offline'];

function changeTo(ssid: string, state: 'running' | 'ended', deviceIds: readonly string[]): DevicesWifi['change'] {
  const states = state === 'running' ? running : ended;
  return {
    id: '019a9d2f-000a-7000-8000-000000000001',
    ssid,
    state,
    startedBy: null,
    startedAt: ago(minute),
    endedAt: state === 'ended' ? ago(minute / 2) : null,
    counts: Object.fromEntries(
      wifiDeviceStates.map((one) => [one, states.filter((other) => other === one).length]),
    ) as NonNullable<DevicesWifi['change']>['counts'],
    devices: states.map((one, index) => ({
      deviceId: deviceIds[index] ?? '',
      state: one,
      reason: one === 'not_told' ? 'The broker did not accept the message.' : null,
      changedAt: ago(minute / 2),
    })),
  };
}

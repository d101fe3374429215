import assert from 'node:assert/strict';
import { connectAsync } from 'mqtt';
import { announcement, colourLamp, cover, thermostat } from '@station/backend/testing/gateways/announcements';
import { shellyConfig, shellyInfo, shellyStatus } from '@station/backend/testing/gateways/shelly-answers';
import {
  colourMessages,
  dimmerMessages,
  doorMessages,
  gen1Announcement,
  motionMessages,
  relayMessages,
  rollerMessages,
} from '@station/backend/testing/gateways/gen1-messages';
import { tasmotaConfig, tasmotaSensors, tasmotaState } from '@station/backend/testing/gateways/tasmota-announcements';
import {
  espHomeMessages,
  thermostat as discoveredThermostat,
  wholeDevice,
  zigbeeMessages,
} from '@station/backend/testing/gateways/discovery-announcements';
import type { DialectName } from '@station/protocol/gateway-systems';
import type { GatewayLoginSheet } from '@station/protocol/gateways';
import { createRandom } from '../../faults/choice.ts';
import { mutateDocument, mutateText, toBytes, type Random } from '../../faults/mutate.ts';
import { runTrials, type Findings } from './findings.ts';
import { pick } from './pick.ts';

const answerMs = 20_000;
/** Messages that the gateway has under way. */
const lanes = 8;

const devices = [colourLamp, cover, thermostat].map((definition, at) => ({
  ...announcement({ definition }),
  ieee_address: `0x00158d000000000${at}`,
  friendly_name: `device ${at}`,
}));
const groups = [0, 1].map((at) => ({
  id: at,
  friendly_name: `group ${at}`,
  scenes: [],
  members: devices.slice(0, at + 1).map(({ ieee_address: address }) => ({ ieee_address: address, endpoint: 1 })),
}));
const coordinator = { type: 'Coordinator', ieee_address: '0x00124b0000000001', friendly_name: 'Coordinator' };

const mac = 'A4CF1249A3BC';
const tasmotaLamp = tasmotaConfig({ mac, rl: [2, 1, 3, 3], lt_st: 5, btn: [1], swc: [1], so: { 73: 1, 114: 1 } });
const shellyNotice = {
  src: 'shellyplus1pm-a8032abe54dc',
  method: 'NotifyStatus',
  params: { ts: 1, 'switch:0': { id: 0, output: true, apower: 8.2 } },
};
const shellyEvent = {
  method: 'NotifyEvent',
  params: { events: [{ component: 'input:0', event: 'single_push', ts: 1 }] },
};
const answerOf = (id: number, result: object) => ({ id, src: 'shellyplus1pm-a8032abe54dc', result });

/** Each with its topics in the tree of the gateway. */
const discovered = (messages: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(Object.fromEntries(Object.entries(messages).map(([rest, one]) => [`homeassistant/${rest}`, one])))
      .replaceAll('"esphome/', '"home_assistant/')
      .replaceAll('"zigbee2mqtt/', '"home_assistant/'),
  ) as Record<string, unknown>;

const ofGen1 = (messages: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(messages).map(([end, one]) => [`shelly_gen1/shelly1pm-A1B2C3/${end}`, one]));

/** Seeds by topic, of each system. */
export const systems: Readonly<Record<DialectName, Readonly<Record<string, unknown>>>> = {
  zigbee2mqtt: {
    'zigbee2mqtt/bridge/devices': [coordinator, ...devices],
    'zigbee2mqtt/bridge/groups': groups,
    'zigbee2mqtt/bridge/state': { state: 'online' },
    'zigbee2mqtt/bridge/response/device/remove': { data: { id: 'device 1' }, status: 'ok' },
    'zigbee2mqtt/device 0': {
      state: 'ON',
      brightness: 254,
      color: { x: 0.3, y: 0.3 },
      action: 'single',
      update: { state: 'idle' },
    },
    'zigbee2mqtt/device 0/availability': { state: 'online' },
    'zigbee2mqtt/device 2': { occupied_heating_setpoint: 21, schedule: { day: 'monday', transitions: [{ hour: 1 }] } },
  },
  tasmota: {
    [`tasmota/discovery/${mac}/config`]: tasmotaLamp,
    [`tasmota/discovery/${mac}/sensors`]: tasmotaSensors,
    'tele/tasmota_49A3BC/STATE': { ...tasmotaState, HSBColor: '120,50,50', Channel: [1, 2, 3] },
    'tele/tasmota_49A3BC/SENSOR': tasmotaSensors.sn,
    'stat/tasmota_49A3BC/RESULT': {
      Button1: { Action: 'DOUBLE' },
      Shutter1: { Position: 30, Direction: 1, Target: 100, Tilt: 0 },
    },
    'stat/tasmota_49A3BC/STATUS10': { StatusSNS: tasmotaSensors.sn },
  },
  shelly: {
    'shelly/boiler/online': true,
    'shelly/boiler/station/rpc': answerOf(3, shellyStatus),
    'shelly/pump/station/rpc': answerOf(1, shellyInfo()),
    'shelly/boiler/events/rpc': shellyNotice,
    'shelly/pump/events/rpc': shellyEvent,
    'shelly/boiler/status/switch:0': shellyStatus['switch:0'],
  },
  shelly_gen1: {
    'shelly_gen1/announce': gen1Announcement(),
    'shelly_gen1/shelly1pm-A1B2C3/online': true,
    ...ofGen1({
      ...colourMessages,
      ...dimmerMessages,
      ...doorMessages,
      ...motionMessages,
      ...relayMessages,
      ...rollerMessages,
    }),
  },
  home_assistant: {
    ...discovered({
      ...espHomeMessages(),
      ...zigbeeMessages,
      'climate/hall/heating/config': discoveredThermostat,
      'device/plug-1/config': wholeDevice,
    }),
    'home_assistant/kitchen/light/ceiling/state': { state: 'ON', brightness: 128, color: { r: 1, g: 2, b: 3 } },
    'home_assistant/kitchen/event/doorbell/state': { event_type: 'press' },
    'home_assistant/kitchen/status': 'online',
    'home_assistant/plug/state': { relay: 'on', energy: { power: 7 } },
  },
};

/** What each system must say so that the rest of its messages is of a device that is known. */
export const announcements: Readonly<Record<DialectName, readonly (readonly [topic: string, body: unknown])[]>> = {
  zigbee2mqtt: [
    ['zigbee2mqtt/bridge/devices', systems.zigbee2mqtt['zigbee2mqtt/bridge/devices']],
    ['zigbee2mqtt/bridge/groups', groups],
  ],
  tasmota: Object.entries(systems.tasmota).slice(0, 2),
  shelly: [shellyInfo(), shellyConfig(), shellyStatus].map((result, at) => [
    'shelly/boiler/station/rpc',
    answerOf(at + 1, result),
  ]),
  shelly_gen1: Object.entries(systems.shelly_gen1).filter(([topic]) => !topic.endsWith('/online')),
  home_assistant: Object.entries(systems.home_assistant).filter(([topic]) => topic.endsWith('/config')),
};

type FuzzedGateway = { dialect: DialectName; login: GatewayLoginSheet };

/** Adds a gateway of each system. */
export async function addGateways(url: string, token: string): Promise<FuzzedGateway[]> {
  const added: FuzzedGateway[] = [];
  for (const dialect of Object.keys(systems) as DialectName[]) {
    const answer = await fetch(`${url}/api/gateways`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: dialect, dialect, baseTopic: dialect }),
    });
    assert.equal(answer.status, 201);
    added.push({ dialect, login: (await answer.json()) as GatewayLoginSheet });
  }
  return added;
}

/** Mutated announcements, states and answers of a gateway: each must be acknowledged, and good ones count afterwards. */
export async function fuzzGateway(options: {
  url: string;
  gateway: FuzzedGateway;
  count: number;
  seed: number;
  findings: Findings;
}): Promise<void> {
  const { url, count, seed, findings } = options;
  const { dialect, login } = options.gateway;
  const seeds = systems[dialect];
  const client = await connectAsync(url, { username: login.login, password: login.password, reconnectPeriod: 0 });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => client.endAsync(true));
  const publish = async (topic: string, payload: Buffer): Promise<void> => {
    const sending = client.publishAsync(topic, payload, { qos: 1 });
    const late = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error('no acknowledgement')), answerMs).unref();
    });
    await Promise.race([sending, late]).catch((error: unknown) => findings.fault(`a gateway: ${String(error)}`, topic));
  };
  const announce = async (): Promise<void> => {
    for (const [topic, body] of announcements[dialect]) await publish(topic, Buffer.from(JSON.stringify(body)));
  };
  await announce();
  await runTrials(count, lanes, async (index) => {
    const random = createRandom(seed + index);
    // What is announced badly must not end the trials of what is reported.
    if (index % 50 === 0) await announce();
    const topic = pick(random, Object.keys(seeds));
    await publish(topic, bytesOf(random, seeds[topic]));
    findings.done();
  });
  await announce();
}

function bytesOf(random: Random, seed: unknown): Buffer {
  if (random() < 0.8) return Buffer.from(mutateDocument(seed, random));
  return Buffer.from(toBytes(mutateText(JSON.stringify(seed), random), random));
}

import assert from 'node:assert/strict';
import { connectAsync } from 'mqtt';
import {
  announcement,
  colourLamp,
  cover,
  thermostat,
} from '@station/backend/gateways/zigbee2mqtt/testing/announcements';
import type { GatewayLoginSheet } from '@station/protocol/gateways';
import { createRandom } from '../../faults/choice.ts';
import { mutateDocument, mutateText, toBytes, type Random } from '../../faults/mutate.ts';
import { runTrials, type Findings } from './findings.ts';
import { pick } from './pick.ts';

const base = 'zigbee2mqtt';
const answerMs = 20_000;
/** Messages that the gateway has under way. */
const lanes = 8;

const devices = [colourLamp, cover, thermostat].map((definition, at) => ({
  ...announcement({ definition }),
  ieee_address: `0x00158d000000000${at}`,
  friendly_name: `device ${at}`,
}));
const coordinator = { type: 'Coordinator', ieee_address: '0x00124b0000000001', friendly_name: 'Coordinator' };

/** Seeds by topic below the base topic. */
const seeds: Readonly<Record<string, unknown>> = {
  'bridge/devices': [coordinator, ...devices],
  'bridge/state': { state: 'online' },
  'bridge/response/device/remove': { data: { id: 'device 1' }, status: 'ok' },
  'device 0': { state: 'ON', brightness: 254, color: { x: 0.3, y: 0.3 }, action: 'single', update: { state: 'idle' } },
  'device 0/availability': { state: 'online' },
  'device 2': { occupied_heating_setpoint: 21, schedule: { day: 'monday', transitions: [{ hour: 1 }] } },
};

/** Adds a gateway. @returns its login. */
export async function addGateway(url: string, token: string): Promise<GatewayLoginSheet> {
  const answer = await fetch(`${url}/api/gateways`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: base }),
  });
  assert.equal(answer.status, 201);
  return (await answer.json()) as GatewayLoginSheet;
}

/** Mutated announcements, states and answers of a gateway: each must be acknowledged, and good ones count afterwards. */
export async function fuzzGateway(options: {
  url: string;
  login: GatewayLoginSheet;
  count: number;
  seed: number;
  findings: Findings;
}): Promise<void> {
  const { url, login, count, seed, findings } = options;
  const client = await connectAsync(url, { username: login.login, password: login.password, reconnectPeriod: 0 });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => client.endAsync(true));
  const publish = async (topic: string, payload: Buffer): Promise<void> => {
    const sending = client.publishAsync(`${base}/${topic}`, payload, { qos: 1 });
    const late = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error('no acknowledgement')), answerMs).unref();
    });
    await Promise.race([sending, late]).catch((error: unknown) => findings.fault(`a gateway: ${String(error)}`, topic));
  };
  const good = Buffer.from(JSON.stringify(seeds['bridge/devices']));
  await publish('bridge/devices', good);
  await runTrials(count, lanes, async (index) => {
    const random = createRandom(seed + index);
    const topic = pick(random, Object.keys(seeds));
    await publish(topic, bytesOf(random, seeds[topic]));
    findings.done();
  });
  await publish('bridge/devices', good);
}

function bytesOf(random: Random, seed: unknown): Buffer {
  if (random() < 0.8) return Buffer.from(JSON.stringify(mutateDocument(seed, random)) ?? '');
  return Buffer.from(toBytes(mutateText(JSON.stringify(seed), random), random));
}

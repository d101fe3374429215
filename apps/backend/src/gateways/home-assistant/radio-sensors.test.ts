import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceMessage, ForeignDevices, GatewayBroker } from '../../core/foreign-devices-port.ts';
import { openedGateways } from '../../../testing/gateways/opened-gateways.ts';
import { until } from '../../../testing/until.ts';

// Motion by radio: it says that there is somebody, and never that there is nobody.
const motion = {
  device: { identifiers: ['433-1'], name: 'Hall' },
  state_topic: 'rf/motion',
  value_template: '{{ value_json.motion | is_defined }}',
  payload_on: '1',
  device_class: 'motion',
};
const silenceMs = 3 * 60_000;

async function house() {
  const heard: DeviceMessage[] = [];
  const hear: GatewayBroker['hear'] = (read) => void heard.push(...read().messages);
  const opened = await openedGateways({ hear });
  await opened.gateways.add({ name: 'RF', dialect: 'home_assistant', baseTopic: 'rf' });
  const say = ({ read }: Pick<ForeignDevices, 'read'>, topic: string, body: unknown): void => {
    heard.push(...read({ topic, payload: Buffer.from(JSON.stringify(body)), isRetained: false }).messages);
  };
  const states = () => heard.flatMap(({ end, body }) => (end === 'state' ? [body['state']] : []));
  const announce = async (offDelay: number, more: object = {}): Promise<void> => {
    const config = { ...motion, ...more, off_dly: offDelay };
    say(opened.foreign, 'homeassistant/binary_sensor/hall/motion/config', config);
    await until('it is announced', () => heard.some(({ end }) => end === 'handshake'));
  };
  return { ...opened, heard, say, states, announce };
}

test('a sensor with off_delay is off so long after it last said on, also when the station was away', async ({
  mock,
}) => {
  await using all = await house();
  await all.announce(30);
  mock.timers.enable({ apis: ['setTimeout'] });
  const on = (): void => all.say(all.foreign, 'rf/motion', { motion: 1 });
  on();
  mock.timers.tick(20_000);
  on();
  mock.timers.tick(20_000);
  assert.deepEqual(all.states(), [{ motion: true }, { motion: true }]);
  mock.timers.tick(10_000);
  assert.deepEqual(all.states(), [{ motion: true }, { motion: true }, { motion: false }]);
  all.heard.length = 0;

  const again = await all.opening();
  const attached = again.foreign.attach(all.broker);
  mock.timers.tick(silenceMs);
  assert.deepEqual(all.states(), []);
  mock.timers.tick(30_000);
  assert.deepEqual(all.states(), [{ motion: false }]);
  attached[Symbol.dispose]();
});

test('a sensor with expire_after is offline when it said nothing for so long', async ({ mock }) => {
  await using all = await house();
  await all.announce(30, { exp_aft: 600 });
  mock.timers.enable({ apis: ['setTimeout'] });
  const heartbeats = () => all.heard.flatMap(({ end, body }) => (end === 'heartbeat' ? [body['status']] : []));
  all.heard.length = 0;
  for (let count = 0; count < 3; count++) {
    all.say(all.foreign, 'rf/motion', { motion: 0 });
    mock.timers.tick(599_000);
  }
  assert.deepEqual(heartbeats(), []);
  mock.timers.tick(1_000);
  assert.deepEqual(heartbeats(), ['offline']);
});

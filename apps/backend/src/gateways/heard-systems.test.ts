import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GatewayMessage } from '../core/foreign-devices-port.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { systemOfWill } from './dialects.ts';
import { createHeardSystems } from './heard-systems.ts';
import { overlap } from './trees-decide.ts';

const wills: readonly (readonly [topic: string, system: string | null])[] = [
  ['zigbee2mqtt/bridge/state', 'zigbee2mqtt zigbee2mqtt'],
  ['home/attic/bridge/state', 'zigbee2mqtt home/attic'],
  ['bridge/state', null],
  ['my zigbee/bridge/state', null],
  ['tele/tasmota_0A1B2C/LWT', 'tasmota tasmota'],
  ['tasmota/lamp/tele/LWT', 'tasmota tasmota'],
  ['attic/tele/lamp/LWT', 'tasmota tasmota'],
  ['home/OpenMQTTGateway/LWT', null],
  ['mytele/lamp/LWT', null],
  ['shellyplus1pm-a8032abe54dc/online', 'shelly shelly'],
  ['shelly/boiler/online', 'shelly shelly'],
  ['home/cellar/pump/online', 'shelly home/cellar'],
  ['boiler/online', null],
  ['/online', null],
  ['shellies/shelly1-40F520169316/online', 'shelly_gen1 shellies'],
  ['kitchen/status', 'home_assistant esphome'],
  ['esphome/kitchen/status', 'home_assistant esphome'],
  ['garden/shed/status', 'home_assistant garden'],
  ['homeassistant/status', null],
  ['station/5b6e7c3a/device/lamp/heartbeat', null],
  ['station/lamp/online', null],
  ['station-out/x/status', null],
  ['$SYS/x/status', null],
  [`${'x'.repeat(65)}/bridge/state`, null],
  ['', null],
];

test('the topic of a last will tells which system it is, and which base topic its gateway would have', () => {
  for (const [topic, system] of wills) {
    const found = systemOfWill(topic);
    assert.equal(found && `${found.name} ${found.baseTopic}`, system, topic);
  }
});

describe('a system that was noticed', () => {
  function open() {
    const clock = manualClock();
    const taken: string[] = [];
    const heard = createHeardSystems({ clock, isTaken: (trees) => overlap(taken, trees) });
    const names = () => heard.list().map(({ dialect, baseTopic }) => `${dialect} ${baseTopic}`);
    return { clock, taken, heard, names };
  }

  test('is listed with the latest of its wills, and forgotten an hour later', () => {
    const { clock, heard, names } = open();
    heard.refused('hall/status');
    clock.advance(30 * 60_000);
    heard.refused('kitchen/status');
    assert.deepEqual(heard.list(), [
      {
        dialect: 'home_assistant',
        baseTopic: 'esphome',
        topic: 'kitchen/status',
        how: 'refused',
        seenAt: '2026-03-01T12:30:00.000Z',
      },
    ]);
    clock.advance(60 * 60_000 - 1);
    assert.equal(names().length, 1);
    clock.advance(1);
    assert.deepEqual(names(), []);
  });

  test('is none that a gateway has already, whichever came first', () => {
    const { heard, taken, names } = open();
    heard.refused('tele/lamp/LWT');
    heard.refused('zigbee2mqtt/bridge/state');
    taken.push('zigbee2mqtt', 'stat');
    assert.deepEqual(names(), []);
    for (const base of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) heard.refused(`${base}/bridge/state`);
    heard.refused('zigbee2mqtt/bridge/state');
    assert.equal(names().length, 8, 'it takes the place of no other one');
  });

  test('of a flood the eight latest are remembered, in an order that stays', () => {
    const { heard, names } = open();
    heard.refused('old/bridge/state');
    for (let n = 1_000; n < 3_000; n += 1) heard.refused(`made-up-${n}/bridge/state`);
    const latest = [2, 3, 4, 5, 6, 7, 8, 9].map((n) => `zigbee2mqtt made-up-299${n}`);
    assert.deepEqual(names(), latest);
    heard.refused('made-up-2993/bridge/state');
    assert.deepEqual(names(), latest);
    heard.refused('old/bridge/state');
    assert.ok(names().includes('zigbee2mqtt old'), 'one that tries again is back');
  });

  test('is shown as it is: a long topic, or one that changes the direction of a text, is not taken', () => {
    const { heard, names } = open();
    for (const odd of ['\u202e', '\u0000', '\n', 'ü', 'x'.repeat(128)]) heard.refused(`home/${odd}/online`);
    assert.deepEqual(names(), []);
    heard.refused('home/<b>&amp;/online');
    assert.deepEqual(names(), ['shelly home']);
  });

  test('at a broker of another system is one that says that it is there, asked for at most twice a minute', () => {
    const { clock, heard, names } = open();
    let bring: (message: GatewayMessage) => void = () => undefined;
    let looks = 0;
    const look = (): void =>
      heard.look({
        listen: (filters, onMessage) => {
          assert.ok(filters.includes('+/bridge/state'));
          looks += 1;
          bring = onMessage;
        },
      });
    look();
    look();
    assert.equal(looks, 1);
    clock.advance(30_000);
    look();
    assert.equal(looks, 2);
    const say = (topic: string, text: string): void => bring({ topic, payload: Buffer.from(text), isRetained: true });
    say('gone/bridge/state', '{"state":"offline"}');
    say('tele/gone/LWT', 'Offline');
    say('shellies/gone/online', 'false');
    say('gone/bridge/state', `${'x'.repeat(100)} online`);
    assert.deepEqual(names(), []);
    say('zigbee2mqtt/bridge/state', '{"state":"online"}');
    say('old/bridge/state', 'online');
    say('tele/lamp/LWT', 'Online');
    say('shellies/shelly1-1/online', 'true');
    assert.deepEqual(names(), [
      'shelly_gen1 shellies',
      'tasmota tasmota',
      'zigbee2mqtt old',
      'zigbee2mqtt zigbee2mqtt',
    ]);
    assert.ok(heard.list().every(({ how }) => how === 'published'));
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import type { CommandRequest, CommandResult } from '../core/commands.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createAsks } from './asks.ts';
import { homeAssistant } from './home-assistant-decide.ts';

const lamp = {
  id: 'one',
  name: 'Hall',
  typeName: 'light',
  type: findBuiltInType('light'),
  zone: null,
  isOnline: true,
  state: {},
  firmwareVersion: null,
  dialect: null,
};

function open() {
  const sent: CommandRequest[] = [];
  const answers: ((result: CommandResult) => void)[] = [];
  const times = { everything: 0, ms: 0 };
  const logger = recordedLog();
  const picture = homeAssistant.draw({ stationId: 'S', stationName: 'Home', version: '0', devices: [lamp] }, 'ha');
  const take = createAsks({
    kind: 'home_assistant',
    teller: {
      connected: () => undefined,
      heed: () => undefined,
      everything: () => (times.everything += 1),
      again: () => undefined,
      say: () => undefined,
      picture: () => picture,
      clear: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    },
    commands: {
      send: (request) => {
        sent.push(request);
        return new Promise((resolve) => answers.push(resolve));
      },
    },
    clock: { ...systemClock, monotonic: () => times.ms },
    logger,
  });
  const ask = (payload: string, isRetained = false, topic = 'station-out/S/one/set/on'): void =>
    take({ topic, payload: Buffer.from(payload), isRetained });
  const finish = async (): Promise<void> => {
    for (const answer of answers.splice(0)) answer({ kind: 'unknown_device' });
    await new Promise((resolve) => setImmediate(resolve));
  };
  const refused = (): unknown[] => logger.events('consumer_message_refused').map(({ reason }) => reason);
  return { ask, finish, sent, times, refused };
}

test('a command is in the name of the consumer', () => {
  const { ask, sent } = open();
  ask('ON');
  assert.deepEqual(sent, [
    { deviceId: 'one', action: 'turn_on', params: {}, userId: null, cause: { kind: 'consumer', id: 'home_assistant' } },
  ]);
});

test('what the broker kept, is too large or not understood becomes no command', () => {
  const { ask, sent, refused } = open();
  ask('ON', true);
  ask('x'.repeat(5_000));
  ask('MAYBE');
  assert.deepEqual([sent, refused()], [[], ['too_large', 'not_understood']]);
});

test('50 commands are on their way at most, and 20 a second after the first hundred', async () => {
  const { ask, finish, sent, times, refused } = open();
  for (let at = 0; at < 60; at += 1) ask('ON');
  assert.equal(sent.length, 50);
  assert.deepEqual(refused(), ['too_many']);
  await finish();
  for (let at = 0; at < 60; at += 1) ask('ON');
  await finish();
  assert.equal(sent.length, 100);
  ask('ON');
  assert.equal(sent.length, 100);
  times.ms += 1_000;
  for (let at = 0; at < 60; at += 1) ask('OFF');
  assert.equal(sent.length, 120);
});

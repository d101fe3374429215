import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createRefusals } from './refusals.ts';

const from = { protocol: null, address: '192.0.2.1' };

test('each client has a line a minute, and a flood of made-up names shares one', () => {
  const logger = recordedLog();
  let nowMs = 0;
  const refusals = createRefusals({ clock: { ...systemClock, monotonic: () => nowMs }, logger });
  const lines = () =>
    logger.events('mqtt_login_refused').map(({ externalId, count }) => `${String(externalId)} ${String(count)}`);
  const refuse = (login: string): void => refusals.login('wrong_password', { ...from, login, clientId: login });
  for (let times = 0; times < 5; times += 1) refuse('lamp');
  refuse('plug');
  assert.deepEqual(lines(), ['lamp 1', 'plug 1']);
  nowMs += 60_000;
  refuse('lamp');
  assert.deepEqual(lines().slice(2), ['lamp 5']);
  for (let n = 0; n < 10_000; n += 1) refuse(`made-up-${n}`);
  assert.ok(lines().length <= 3 + 20, String(lines().length));
  nowMs += 60 * 60_000;
  refuse('lamp');
  assert.equal(lines().at(-1), 'lamp 1');
});

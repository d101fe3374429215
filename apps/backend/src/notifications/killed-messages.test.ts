import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startPostBox } from '@station/simulators/notifications/receivers';
import type { Automation } from '@station/protocol/automations';
import { notificationTopics } from '@station/protocol/notifications';
import type { Session } from '@station/protocol/rest';
import { chain, node } from '../../testing/automation-world.ts';
import { bearer, owner } from '../../testing/running-backend.ts';
import { runProgram, type RunningProgram } from '../../testing/running-program.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

async function addressOf(program: RunningProgram): Promise<string> {
  const started = () => program.lines.find(({ event }) => event === 'backend_started');
  await until('the backend runs', () => started() !== undefined);
  return String(started()?.['address']);
}

async function call<T>(method: string, url: string, token: string | null, body: unknown): Promise<T> {
  const response = await fetch(url, {
    method,
    headers: { ...(token === null ? {} : bearer(token)), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, text);
  return (text === '' ? null : JSON.parse(text)) as T;
}

const say = (message: string) =>
  chain([node('at', 'trigger', 'schedule', { time: '12:00' }), node('say', 'action', 'notify', { message })]);

test('killed between sending and noting it, the station sends the message once more, with the same id', async () => {
  await using folder = await temporaryFolder();
  const answered = Promise.withResolvers<void>();
  await using box = await startPostBox(() => answered.promise);
  const env = { PORT: '0', DATA_DIR: join(folder.path, 'data'), AUTOMATION_WEBHOOK_ALLOW: '127.0.0.1' };
  {
    await using program = runProgram(env);
    const url = await addressOf(program);
    const code = (await readFile(join(join(folder.path, 'data'), 'setup-code'), 'utf8')).trim();
    const { accessToken } = await call<Session>('POST', `${url}/api/auth/setup`, null, { code, ...owner });
    const rules = { offlineMinutes: null, batteryPercent: null, updates: true, conditions: false };
    const webhook = { url: box.url, topics: [...notificationTopics], language: 'en' };
    const settings = { rules, mail: null, ntfy: null, webhook };
    await call('PUT', `${url}/api/notifications/station`, accessToken, settings);
    const flow = { name: 'Leak', flow: say('Water in the bathroom') };
    const { id } = await call<Automation>('POST', `${url}/api/automations`, accessToken, flow);
    await call('POST', `${url}/api/automations/${id}/run`, accessToken, {});
    await until('the receiver has the message', () => box.posts.length === 1);
    program.child.kill('SIGKILL');
    await program.exit;
  }
  answered.resolve();
  for (const life of ['the second', 'the third']) {
    await using program = runProgram(env);
    await addressOf(program);
    const isSent = (): boolean => program.lines.some(({ event }) => event === 'notification_sent');
    if (life === 'the second') await until('it is sent again', isSent);
    program.child.kill('SIGTERM');
    assert.equal(await program.exit, 0);
    assert.equal(isSent(), life === 'the second');
  }
  assert.equal(box.posts.length, 2);
  const [first, second] = box.posts.map(({ body }) => body);
  assert.deepEqual(first, second);
});

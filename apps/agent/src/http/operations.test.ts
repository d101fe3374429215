import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HistoryEntry } from '@station/protocol/agent-api';
import type { StartAnswer } from '../core/stack-port.ts';
import { call, historyEntry, postJson, startedAnswer, startServer, outcomeOf } from '../../testing/running-server.ts';

const ended = (changes: Partial<HistoryEntry>): StartAnswer => startedAnswer(Promise.resolve(historyEntry(changes)));
const rollback = { kind: 'rollback', from: '1.1.0', to: '1.0.0', result: 'rolled_back' } as const;

describe('POST /update', () => {
  it('without a body, with an empty one or with {} asks for the latest release', async () => {
    await using running = await startServer();
    running.agent.answer = { kind: 'already_current', version: '1.1.0' };
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    for (const options of [{}, { headers }, { headers, body: '' }, { headers, body: '{}' }]) {
      const answer = await call(running.tcp, 'POST', '/update', options);
      assert.deepEqual(answer.json, {
        result: 'already_current',
        from: '1.1.0',
        to: '1.1.0',
        durationMs: 0,
        downtimeMs: null,
      });
    }
    assert.deepEqual(
      running.agent.asked,
      Array.from({ length: 4 }, () => 'update latest'),
    );
  });

  it('with a version asks for that, and answers once it is installed', async () => {
    await using running = await startServer();
    const end = Promise.withResolvers<HistoryEntry>();
    running.agent.answer = startedAnswer(end.promise);
    let answered = false;
    const answer = postJson(running.tcp, '/update', { version: '1.1.0' }).finally(() => (answered = true));
    while (running.agent.asked.length === 0) await new Promise(setImmediate);
    assert.equal(outcomeOf(await call(running.tcp, 'GET', '/health')), '200');
    assert.equal(answered, false);
    end.resolve(historyEntry());
    assert.deepEqual((await answer).json, {
      result: 'updated',
      from: '1.0.0',
      to: '1.1.0',
      durationMs: 60_000,
      downtimeMs: 1500,
    });
    assert.deepEqual(running.agent.asked, ['update 1.1.0']);
  });

  it('with wait=false answers at once', async () => {
    await using running = await startServer();
    for (const path of ['/update?wait=false', '/rollback?wait=false']) {
      const answer = await call(running.tcp, 'POST', path);
      assert.deepEqual([answer.status, answer.json], [202, { operationId: 'operation-1' }]);
    }
    assert.deepEqual(running.agent.asked, ['update latest', 'rollback promptly']);
  });
});

const outcomes: [string, '/update' | '/rollback', StartAnswer, string, unknown][] = [
  [
    'a release that did not work',
    '/update',
    ended({ result: 'rolled_back', reason: 'not healthy', code: 'release_unhealthy' }),
    '500 update_rolled_back',
    { from: '1.0.0', to: '1.1.0', reason: 'not healthy' },
  ],
  [
    'a release whose image is missing',
    '/update',
    ended({ result: 'failed', reason: 'no such tag', code: 'image_missing' }),
    '502 image_missing',
    { from: '1.0.0', to: '1.1.0', reason: 'no such tag' },
  ],
  [
    'a disk too small',
    '/update',
    ended({ result: 'failed', reason: '3 GB missing', code: 'disk_space_low' }),
    '507 disk_space_low',
    { from: '1.0.0', to: '1.1.0', reason: '3 GB missing' },
  ],
  [
    'a failure with a code of the engine only',
    '/update',
    ended({ result: 'failed', reason: 'it broke', code: 'engine_failed' }),
    '500 update_failed',
    { from: '1.0.0', to: '1.1.0', reason: 'it broke' },
  ],
  [
    'a failure with a code that looks like one',
    '/update',
    ended({ result: 'failed', reason: 'it broke', code: 'toString' }),
    '500 update_failed',
    { from: '1.0.0', to: '1.1.0', reason: 'it broke' },
  ],
  [
    'a failure of which no code is known',
    '/update',
    ended({ result: 'failed', from: null, reason: null, code: null }),
    '500 update_failed',
    { from: null, to: '1.1.0', reason: null },
  ],
  [
    'a rollback that did not work and was undone',
    '/rollback',
    ended({ ...rollback, reason: 'not healthy', code: 'release_unhealthy' }),
    '500 rollback_failed',
    { from: '1.1.0', to: '1.0.0', reason: 'not healthy' },
  ],
  [
    'a rollback that failed',
    '/rollback',
    ended({ ...rollback, result: 'failed', reason: 'it broke', code: 'engine_failed' }),
    '500 rollback_failed',
    { from: '1.1.0', to: '1.0.0', reason: 'it broke' },
  ],
  [
    'an operation under way',
    '/update',
    { kind: 'refused', code: 'update_in_progress', message: 'One is under way.' },
    '409 update_in_progress',
    undefined,
  ],
  [
    'a digest without a tag',
    '/update',
    { kind: 'refused', code: 'version_not_derivable', message: 'Pinned.' },
    '422 version_not_derivable',
    undefined,
  ],
  [
    'nothing to go back to',
    '/rollback',
    { kind: 'refused', code: 'nothing_to_roll_back', message: 'There is none.' },
    '409 nothing_to_roll_back',
    undefined,
  ],
  ['an agent that stopped first', '/update', startedAnswer(Promise.resolve(null)), '503 shutting_down', undefined],
];

describe('an operation that does not end as asked', () => {
  for (const [title, path, answer, expected, details] of outcomes) {
    it(`${title}: ${expected}`, async () => {
      await using running = await startServer();
      running.agent.answer = answer;
      const got = await call(running.tcp, 'POST', path);
      assert.equal(outcomeOf(got), expected);
      assert.deepEqual((got.json as { details?: unknown }).details, details);
      assert.deepEqual(running.events, []);
    });
  }
});

describe('POST /rollback', () => {
  it('answers once the previous release runs', async () => {
    await using running = await startServer();
    running.agent.answer = ended({ ...rollback, downtimeMs: null });
    assert.deepEqual((await call(running.tcp, 'POST', '/rollback')).json, {
      result: 'rolled_back',
      from: '1.1.0',
      to: '1.0.0',
      durationMs: 60_000,
      downtimeMs: null,
    });
  });
});

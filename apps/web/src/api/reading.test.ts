import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from './request.ts';
import { freshnessOf, pollEveryMs } from './reading.ts';

const facts = { link: 'live', agent: true, silence: null, readAt: 1_000_000, failure: null, now: 1_001_000 } as const;

test('what is on the screen is live, asked for, or old', () => {
  assert.deepEqual(freshnessOf(facts), { kind: 'live' });
  assert.deepEqual(freshnessOf({ ...facts, link: 'connecting', agent: null }), { kind: 'connecting' });
  assert.deepEqual(freshnessOf({ ...facts, link: 'down', agent: null }), { kind: 'polling' });
  assert.deepEqual(freshnessOf({ ...facts, agent: false }), { kind: 'polling' });
});

test('a failed read makes it stale, with the time of the last update and what does not answer', () => {
  const lastUpdateAt = facts.readAt;
  const failure = new Problem('no_answer', '');
  assert.deepEqual(freshnessOf({ ...facts, failure }), { kind: 'stale', because: 'no_answer', lastUpdateAt });
  const agent = new Problem('agent_unreachable', '');
  assert.deepEqual(freshnessOf({ ...facts, failure: agent }), { kind: 'stale', because: 'agent_silent', lastUpdateAt });
});

test('a station that stopped to answer makes it stale, with the time of its last message', () => {
  const silence = { noticedAt: facts.readAt + 900, heardAt: facts.readAt + 500 };
  const lastUpdateAt = silence.heardAt;
  assert.deepEqual(freshnessOf({ ...facts, silence }), { kind: 'stale', because: 'no_answer', lastUpdateAt });
  const readAt = silence.noticedAt + 1;
  assert.deepEqual(freshnessOf({ ...facts, silence, readAt, link: 'down' }), { kind: 'polling' });
});

test('a request that hangs makes it old as well, sooner without the socket', () => {
  const after = (ms: number, link: 'live' | 'down'): string =>
    freshnessOf({ ...facts, link, now: facts.readAt + ms }).kind;
  assert.deepEqual([after(6_000, 'down'), after(8_000, 'down')], ['polling', 'stale']);
  assert.deepEqual([after(60_000, 'live'), after(100_000, 'live')], ['live', 'stale']);
});

test('the status is read often during an operation, and rarely while events arrive', () => {
  const every = (change: object): number =>
    pollEveryMs({ link: 'live', agent: true, busy: false, failed: false, ...change });
  assert.deepEqual(
    [every({}), every({ agent: false }), every({ link: 'down' }), every({ busy: true }), every({ failed: true })],
    [30_000, 3_000, 3_000, 1_000, 2_000],
  );
});

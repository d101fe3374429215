import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LogLine } from '@station/protocol/agent-machine';
import { asText, createLineReader, keepLines, levelOf, matching, mostLines, readable, sinceOf } from './log-view.ts';

const line = (text: string, second = 0, service = 'backend'): LogLine => ({
  service,
  time: `2026-03-01T12:00:${String(second).padStart(2, '0')}.000Z`,
  text,
});
const json = (level: string, event: string): string => JSON.stringify({ time: 'x', level, event, reason: 'why' });

describe('the lines of the log', () => {
  it('have the level that a program wrote, or a word for it', () => {
    const levels = [
      json('warn', 'x'),
      json('debug', 'error_in_name'),
      '[crit] out of files',
      'Warning: slow',
      'terror',
    ];
    assert.deepEqual(levels.map(levelOf), ['warn', 'info', 'error', 'warn', 'info']);
  });

  it('are kept once when a stream goes on, and the oldest go when there are too many', () => {
    const first = keepLines([], [line('a', 1), line('b', 2)]);
    const again = keepLines(first, [line('b', 2), line('c', 3)]);
    assert.deepEqual(
      again.map(({ id, text }) => [id, text]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
    );
    assert.equal(keepLines(again, [line('c', 3)]), again);
    const many = Array.from({ length: mostLines + 5 }, (_, index) => line(String(index)));
    const kept = keepLines([], many);
    assert.deepEqual([kept.length, kept[0]?.text], [mostLines, '5']);
  });

  it('match a service, a level and a text, whatever its case', () => {
    const kept = keepLines(
      [],
      [line(json('warn', 'slow'), 1), line(json('error', 'broken'), 2), line('hello', 3, 'proxy')],
    );
    const texts = (filter: Partial<Parameters<typeof matching>[1]>) =>
      matching(kept, { service: null, level: 'all', text: '', ...filter }).map(
        ({ text }) => readable(text).split(' ')[0],
      );
    assert.deepEqual(texts({}), ['slow', 'broken', 'hello']);
    assert.deepEqual(texts({ service: 'proxy' }), ['hello']);
    assert.deepEqual(texts({ level: 'warn' }), ['slow', 'broken']);
    assert.deepEqual(texts({ level: 'error' }), ['broken']);
    assert.deepEqual(texts({ text: ' HELL' }), ['hello']);
  });

  it('are shown without what stands beside them, and saved as they are', () => {
    assert.equal(readable(json('info', 'started')), 'started {"reason":"why"}');
    assert.equal(readable('{"time":"x","level":"info","event":"up"}'), 'up');
    assert.equal(readable('no JSON'), 'no JSON');
    assert.equal(readable('{"no":"event"}'), '{"no":"event"}');
    assert.equal(asText([line('a', 1)]), '2026-03-01T12:00:01.000Z backend a\n');
  });

  it('say where a stream goes on', () => {
    assert.equal(sinceOf([]), null);
    assert.equal(sinceOf([line('a', 1), line('b', 2)]), String(Date.UTC(2026, 2, 1, 12, 0, 2)));
  });

  it('are read however a stream is cut', () => {
    const stream = `: hello\n\ndata: ${JSON.stringify(line('ї', 1))}\n\n:\n\ndata: broken\n\ndata: ${JSON.stringify(line('b', 2))}\n\n`;
    for (const size of [1, 3, 1000]) {
      const read = createLineReader();
      const found: LogLine[] = [];
      for (let at = 0; at < stream.length; at += size) found.push(...read(stream.slice(at, at + size)));
      assert.deepEqual(found, [line('ї', 1), line('b', 2)]);
    }
  });
});

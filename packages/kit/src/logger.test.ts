import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events } from '@station/protocol/events';
import type { Clock } from './clock.ts';
import { createLogger, type LogLevel } from './logger.ts';

const clock: Clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), monotonic: () => 0, sleep: async () => undefined };

function recorded(options: { level?: LogLevel; secrets?: string[]; write?: (line: string) => void } = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    catalogue: events,
    clock,
    level: options.level ?? 'info',
    secrets: options.secrets ?? [],
    write: options.write ?? ((line) => void lines.push(line)),
  });
  return { logger, lines };
}

describe('a logger', () => {
  it('writes one JSON object per line: time, level, event, fields', () => {
    const { logger, lines } = recorded();
    logger.event('config_warning', { problem: 'two\nlines' });
    assert.deepEqual(lines, [
      '{"time":"2026-01-02T03:04:05.006Z","level":"warn","event":"config_warning","problem":"two\\nlines"}\n',
    ]);
  });

  it('writes nothing that a terminal obeys, or shows in another order', () => {
    const { logger, lines } = recorded();
    const problem = 'a\u001b[2J\u009b31m\u007f\u202eb\u2066\u2028c\u200fї😀';
    logger.event('config_warning', { problem });
    assert.doesNotMatch(lines[0] ?? '', /(?!\n$)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    assert.equal((JSON.parse(lines[0] ?? '') as { problem: string }).problem, problem);
    assert.match(lines[0] ?? '', /ї😀/);
  });

  it('does not write events below its level, but passes them to listeners', () => {
    const { logger, lines } = recorded({ level: 'error' });
    const received: string[] = [];
    using _subscription = logger.subscribe(({ event }) => received.push(event));
    logger.event('config_warning', { problem: 'small' });
    logger.event('unexpected_error', { where: 'test', message: 'large' });
    assert.deepEqual([lines.length, received], [1, ['config_warning', 'unexpected_error']]);
  });

  it('does not call a listener that was disposed', () => {
    const { logger } = recorded();
    const received: string[] = [];
    const subscription = logger.subscribe(({ event }) => received.push(event));
    logger.event('config_warning', { problem: 'one' });
    subscription[Symbol.dispose]();
    logger.event('config_warning', { problem: 'two' });
    assert.equal(received.length, 1);
  });

  it('never throws when a listener or the output fails', () => {
    const { logger, lines } = recorded();
    const received: string[] = [];
    using _bad = logger.subscribe(() => {
      throw new Error('listener failed');
    });
    using _good = logger.subscribe(({ event }) => received.push(event));
    logger.event('config_warning', { problem: 'x' });
    assert.deepEqual(received, ['config_warning']);
    assert.match(lines[1] ?? '', /"event":"unexpected_error","where":"logger","message":"listener failed"/);

    const broken = recorded({
      write: () => {
        throw new Error('EPIPE');
      },
    });
    using _still = broken.logger.subscribe(({ event }) => received.push(event));
    broken.logger.event('config_warning', { problem: 'x' });
    assert.equal(received.length, 2);
  });
});

describe('secrets', () => {
  const cases: [string, unknown, unknown][] = [
    ['inside a text', 'GET /?t=s3cr3t-one failed', 'GET /?t=[redacted] failed'],
    ['in a URL', 'GET https://user:p%40ss@host/a@b failed', 'GET https://[redacted]@host/a@b failed'],
    ['more than once', 's3cr3t-one s3cr3t-one', '[redacted] [redacted]'],
    ['in a list', ['a', 's3cr3t-one'], ['a', '[redacted]']],
    ['deep inside', { a: [{ b: 'x s3cr3t-one' }] }, { a: [{ b: 'x [redacted]' }] }],
    ['with the same beginning', 's3cr3t-one-and-more', '[redacted]'],
    ['with characters that JSON escapes', 'say "hi"\\there!', 'say [redacted]!'],
    ['inside JSON in a text', `body ${JSON.stringify({ a: '"hi"\\there' })}`, 'body {"a":"[redacted]"}'],
    ['in a key', { 's3cr3t-one': 1 }, { '[redacted]': 1 }],
    [
      'by the name of their field',
      { agentToken: 'x', Password: 1, authorization: null, psk: ['y'] },
      {
        agentToken: '[redacted]',
        Password: '[redacted]',
        authorization: '[redacted]',
        psk: '[redacted]',
      },
    ],
    ['but not texts that contain a short secret', 'the cat sat', 'the cat sat'],
    ['but not numbers or nulls', { size: 5, at: null, on: true }, { size: 5, at: null, on: true }],
  ];
  for (const [title, given, expected] of cases) {
    it(`are redacted ${title}`, () => {
      const { logger, lines } = recorded({ secrets: ['cat', 's3cr3t-one', 's3cr3t-one-and-more', '"hi"\\there', ''] });
      const received: unknown[] = [];
      using _subscription = logger.subscribe((event) =>
        received.push((event as unknown as { problem: unknown }).problem),
      );
      logger.event('config_warning', { problem: given as string });
      assert.deepEqual((JSON.parse(lines[0] ?? '') as { problem: unknown }).problem, expected);
      assert.deepEqual(received, [expected]);
    });
  }

  it('are redacted from the moment they are added', () => {
    const { logger, lines } = recorded({ secrets: ['abcd'] });
    logger.event('config_warning', { problem: 'later-secret' });
    logger.keepSecret('later');
    logger.keepSecret('later-secret');
    logger.keepSecret('abc');
    logger.event('config_warning', { problem: 'later-secret abc' });
    const problems = lines.map((line) => (JSON.parse(line) as { problem: string }).problem);
    assert.deepEqual(problems, ['later-secret', '[redacted] abc']);
  });
});

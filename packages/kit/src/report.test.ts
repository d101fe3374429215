import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from './clock.ts';
import { createReport, type LogLevel } from './report.ts';

const clock: Clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), monotonic: () => 0, sleep: async () => undefined };

function recorded(options: { level?: LogLevel; secrets?: string[]; write?: (line: string) => void } = {}) {
  const lines: string[] = [];
  const report = createReport({
    clock,
    level: options.level ?? 'info',
    secrets: options.secrets ?? [],
    write: options.write ?? ((line) => void lines.push(line)),
  });
  return { report, lines };
}

describe('a report', () => {
  it('writes one JSON object a line: time, level, event, fields', () => {
    const { report, lines } = recorded();
    report.event('config_warning', { problem: 'two\nlines' });
    assert.deepEqual(lines, [
      '{"time":"2026-01-02T03:04:05.006Z","level":"warn","event":"config_warning","problem":"two\\nlines"}\n',
    ]);
  });

  it('keeps what is below its level out of the log, but not from the listeners', () => {
    const { report, lines } = recorded({ level: 'error' });
    const heard: string[] = [];
    using _subscription = report.subscribe(({ event }) => heard.push(event));
    report.event('config_warning', { problem: 'small' });
    report.event('unexpected_error', { where: 'test', message: 'large' });
    assert.deepEqual([lines.length, heard], [1, ['config_warning', 'unexpected_error']]);
  });

  it('no longer calls who has gone', () => {
    const { report } = recorded();
    const heard: string[] = [];
    const subscription = report.subscribe(({ event }) => heard.push(event));
    report.event('config_warning', { problem: 'one' });
    subscription[Symbol.dispose]();
    report.event('config_warning', { problem: 'two' });
    assert.equal(heard.length, 1);
  });

  it('never throws, whoever listens and wherever it writes', () => {
    const { report, lines } = recorded();
    const heard: string[] = [];
    using _bad = report.subscribe(() => {
      throw new Error('listener broke');
    });
    using _good = report.subscribe(({ event }) => heard.push(event));
    report.event('config_warning', { problem: 'x' });
    assert.deepEqual(heard, ['config_warning']);
    assert.match(lines[1] ?? '', /"event":"unexpected_error","where":"report","message":"listener broke"/);

    const broken = recorded({
      write: () => {
        throw new Error('EPIPE');
      },
    });
    using _still = broken.report.subscribe(({ event }) => heard.push(event));
    broken.report.event('config_warning', { problem: 'x' });
    assert.equal(heard.length, 2);
  });
});

describe('secrets', () => {
  const cases: [string, unknown, unknown][] = [
    ['inside a text', 'GET /?t=s3cr3t-one failed', 'GET /?t=[redacted] failed'],
    ['more than once', 's3cr3t-one s3cr3t-one', '[redacted] [redacted]'],
    ['in a list', ['a', 's3cr3t-one'], ['a', '[redacted]']],
    ['deep inside', { a: [{ b: 'x s3cr3t-one' }] }, { a: [{ b: 'x [redacted]' }] }],
    ['that begin alike', 's3cr3t-one-and-more', '[redacted]'],
    ['with characters that JSON escapes', 'say "hi"\\there!', 'say [redacted]!'],
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
    ['and not what only looks short', 'the cat sat', 'the cat sat'],
    ['and no numbers or nulls', { size: 5, at: null, on: true }, { size: 5, at: null, on: true }],
  ];
  for (const [title, given, expected] of cases) {
    it(`are kept out ${title}`, () => {
      const { report, lines } = recorded({ secrets: ['cat', 's3cr3t-one', 's3cr3t-one-and-more', '"hi"\\there', ''] });
      const heard: unknown[] = [];
      using _subscription = report.subscribe((event) => heard.push((event as unknown as { problem: unknown }).problem));
      report.event('config_warning', { problem: given as string });
      assert.deepEqual((JSON.parse(lines[0] ?? '') as { problem: unknown }).problem, expected);
      assert.deepEqual(heard, [expected]);
    });
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@station/backend/testing/until';
import { createPrinter } from './printer.ts';

const recorder = (isTTY: boolean) => {
  const written: string[] = [];
  return { isTTY, write: (text: string) => written.push(text), written };
};

describe('the printer', () => {
  it('prints nothing about short steps', async () => {
    const out = recorder(false);
    assert.equal(await createPrinter(out).during('Looking', async () => 7), 7);
    assert.deepEqual(out.written, []);
  });

  it('prints each step once without a terminal', async () => {
    const out = recorder(false);
    await createPrinter(out).during('Fetching', async (progress) => {
      progress({ text: 'release 1.0.0', percent: 10 });
      await until('the line is printed', () => out.written.length > 0);
      progress({ text: 'release 1.0.0', percent: 90 });
      await delay(400);
    });
    assert.equal(out.written[0], '  Fetching: release 1.0.0\n');
    assert.match(out.written[1] ?? '', /^ {2}Fetching: done \(\d+\.\d s\)\n$/);
    assert.equal(out.written.length, 2);
  });

  it('draws a bar on a terminal, and leaves one line at the end', async () => {
    const out = recorder(true);
    const work = createPrinter(out).during('Fetching', async (progress) => {
      progress({ text: 'release 1.0.0', percent: 50 });
      await until('the bar is drawn', () => out.written.length > 0);
      throw new Error('no');
    });
    await assert.rejects(work, /^Error: no$/);
    assert.equal(out.written[0], `\r\x1b[K  Fetching: release 1.0.0  ${'█'.repeat(12)}${'░'.repeat(12)} 50 %`);
    assert.match(out.written.at(-1) ?? '', /^\r\x1b\[K {2}Fetching: failed \(\d+\.\d s\)\n$/);
  });
});

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { hiddenLeaseMs, leaseMs, withLease } from './refresh-turns.ts';
import { createMemory } from './memory.ts';

describe('a lease', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] }));
  afterEach(() => mock.timers.reset());

  const stepMs = 20;
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      mock.timers.tick(stepMs);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** Tabs of one browser. What each of them does takes until the test says so. */
  function browser(storage?: () => Storage) {
    const kept = new Map<string, string>();
    const shared = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    } as unknown as Storage;
    const memory = createMemory(storage ?? (() => shared));
    return {
      tab: (isHidden = false) => {
        const page = new EventTarget();
        const work = Promise.withResolvers<void>();
        const tab = { page, works: false, end: () => work.resolve() };
        const run = (): Promise<void> => {
          tab.works = true;
          return work.promise.finally(() => (tab.works = false));
        };
        void withLease(run, { memory, page, isHidden: () => isHidden });
        return tab;
      },
    };
  }

  test('one tab works at a time, however long that takes', async () => {
    const { tab } = browser();
    const first = tab();
    const second = tab();
    await pass(1_000);
    assert.equal(Number(first.works) + Number(second.works), 1);
    const [working, waiting] = first.works ? [first, second] : [second, first];
    await pass(leaseMs * 6);
    assert.deepEqual([working.works, waiting.works], [true, false]);
    working.end();
    await pass(1_000);
    assert.deepEqual([working.works, waiting.works], [false, true]);
  });

  test('a tab that is closed in its turn gives it to the next', async () => {
    const { tab } = browser();
    const first = tab();
    await pass(1_000);
    first.page.dispatchEvent(new Event('pagehide'));
    const second = tab();
    await pass(1_000);
    assert.ok(second.works);
  });

  test('a tab that died in its turn, seen or hidden, is waited for until its lease runs out', async () => {
    for (const [isHidden, ms] of [
      [false, leaseMs],
      [true, hiddenLeaseMs],
    ] as const) {
      const { tab } = browser();
      const died = mock.method(globalThis, 'setInterval', () => undefined);
      tab(isHidden);
      await pass(1_000);
      died.mock.restore();
      const second = tab();
      await pass(ms - 2_000);
      assert.ok(!second.works);
      await pass(2_000);
      assert.ok(second.works);
    }
  });

  test('where nothing may be kept a tab works at once', async () => {
    const { tab } = browser(() => {
      throw new Error('forbidden');
    });
    const only = tab();
    await pass(100);
    assert.ok(only.works);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createByteBudget, type Holding } from './byte-budget.ts';

describe('a budget of bytes', () => {
  const budgetOf = (limits: { all: number; client: number }) => {
    const budget = createByteBudget(limits);
    const ended: string[] = [];
    const take = (name: string, holding: Partial<Holding>): Disposable | null =>
      budget.take({
        bytes: 1,
        client: name,
        isStranger: true,
        mayEnd: () => true,
        end: () => void ended.push(name),
        ...holding,
      });
    return { budget, ended, take };
  };

  it('gives bytes back once, however often it is asked', () => {
    const { budget, take } = budgetOf({ all: 10, client: 10 });
    const taken = take('a', { bytes: 4 });
    assert.equal(budget.takenBytes(), 4);
    taken?.[Symbol.dispose]();
    taken?.[Symbol.dispose]();
    assert.equal(budget.takenBytes(), 0);
  });

  it('ends what a client holds longest when it takes more than its share, and nothing of others', () => {
    const { ended, take } = budgetOf({ all: 100, client: 10 });
    take('other', { bytes: 10 });
    take('first', { bytes: 6, client: 'one' });
    take('second', { bytes: 4, client: 'one' });
    assert.notEqual(take('third', { bytes: 5, client: 'one' }), null);
    assert.deepEqual(ended, ['first']);
  });

  it('refuses more than a share, and more than there is', () => {
    const { budget, ended, take } = budgetOf({ all: 20, client: 10 });
    assert.equal(take('one', { bytes: 11 }), null);
    assert.equal(take('nobody', { bytes: 21, client: null }), null);
    assert.deepEqual([budget.takenBytes(), ended], [0, []]);
  });

  it('ends the oldest of the client that holds most when there is no room for all', () => {
    const { ended, take } = budgetOf({ all: 20, client: 15 });
    take('small', { bytes: 5 });
    take('large 1', { bytes: 7, client: 'large' });
    take('large 2', { bytes: 7, client: 'large' });
    assert.notEqual(take('new', { bytes: 3 }), null);
    assert.deepEqual(ended, ['large 1']);
  });

  it('ends nothing that has arrived', () => {
    const { ended, take } = budgetOf({ all: 10, client: 10 });
    take('done', { bytes: 6, mayEnd: () => false });
    take('arriving', { bytes: 4 });
    assert.notEqual(take('new', { bytes: 4 }), null);
    assert.deepEqual(ended, ['arriving']);
    assert.equal(take('large', { bytes: 5 }), null);
  });

  it('ends strangers first, and nobody else for a stranger', () => {
    const { ended, take } = budgetOf({ all: 10, client: 10 });
    take('member', { bytes: 6, isStranger: false });
    take('stranger', { bytes: 4 });
    assert.notEqual(take('another stranger', { bytes: 4 }), null);
    assert.equal(take('large stranger', { bytes: 5 }), null);
    assert.notEqual(take('second member', { bytes: 10, isStranger: false }), null);
    assert.deepEqual(ended, ['stranger', 'another stranger', 'member']);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideStorage,
  defaultBudget,
  kindToShed,
  outboxRoom,
  roomOf,
  type StorageFacts,
  type StorageStep,
} from './storage-decide.ts';

const mebibyte = 1024 * 1024;
const mb = (count: number): number => count * mebibyte;
/** A budget of 96 MiB: 32 for the database, of which 8 are for its log. */
const fine: StorageFacts = {
  budgetBytes: mb(96),
  fileBytes: mb(10),
  freeBytes: 0,
  diskBytes: mb(10),
  logBytes: mb(4),
  copies: [],
  isCopied: true,
  canShrink: true,
  hasHistory: true,
  isQuiet: true,
  isShedding: false,
  mostRowBytes: null,
};
const copies = (...sizes: number[]) => sizes.map((size, index) => ({ path: `copy-${index}`, bytes: mb(size) }));
const wait = (isOverBudget = false): StorageStep => ({ kind: 'wait', isOverBudget });

const table: [string, Partial<StorageFacts>, StorageStep][] = [
  ['everything fits', {}, wait()],
  ['a little below full', { fileBytes: mb(22), diskBytes: mb(22) }, wait()],
  ['nearly full', { fileBytes: mb(23) }, { kind: 'shed' }],
  ['free pages are not history', { fileBytes: mb(23), freeBytes: mb(0.5) }, wait()],
  ['dropping goes on below the limit where it began', { fileBytes: mb(22.5), isShedding: true }, { kind: 'shed' }],
  ['and ends a little further', { fileBytes: mb(22), isShedding: true }, wait()],
  ['full without history', { fileBytes: mb(25), hasHistory: false }, wait(true)],
  [
    'the oldest copy goes while the next one does not fit',
    { fileBytes: mb(20), copies: copies(20, 19, 18) },
    { kind: 'remove_copy', path: 'copy-2' },
  ],
  ['copies that leave room for the next one stay', { fileBytes: mb(20), copies: copies(20, 19) }, wait()],
  ['the last copy stays while the file is too long', { fileBytes: mb(90), copies: copies(90) }, { kind: 'shed' }],
  ['the last copy goes if it alone breaks the budget', { copies: copies(90) }, { kind: 'remove_copy', path: 'copy-0' }],
  ['free pages go back in a quiet moment', { fileBytes: mb(20), freeBytes: mb(2) }, { kind: 'give_back' }],
  ['not while messages wait', { fileBytes: mb(20), freeBytes: mb(2), isQuiet: false }, wait()],
  [
    'but at once from a file that is too long',
    { fileBytes: mb(40), freeBytes: mb(25), isQuiet: false },
    { kind: 'give_back' },
  ],
  ['not from an old file that cannot shrink', { fileBytes: mb(40), freeBytes: mb(25), canShrink: false }, wait()],
  ['a long log goes into the file in a quiet moment', { logBytes: mb(9) }, { kind: 'checkpoint' }],
  ['a long log waits while messages wait', { logBytes: mb(9), isQuiet: false }, wait()],
  ['a very long log does not wait', { logBytes: mb(17), isQuiet: false }, { kind: 'checkpoint' }],
  ['pages that were given back leave the disk', { diskBytes: mb(14) }, { kind: 'checkpoint' }],
  ['a full disk costs history below the budget', { mostRowBytes: mb(8) }, { kind: 'shed' }],
  ['and no more than that', { fileBytes: mb(8), diskBytes: mb(8), mostRowBytes: mb(8), isShedding: true }, wait()],
  ['a full disk is not a full budget', { mostRowBytes: mb(8), hasHistory: false, canShrink: false }, wait()],
  [
    'a full disk costs all copies but the newest',
    { mostRowBytes: mb(12), copies: copies(1, 1) },
    { kind: 'remove_copy', path: 'copy-1' },
  ],
  [
    'a full disk costs every free page',
    { fileBytes: mb(10), freeBytes: mb(0.6), mostRowBytes: mb(9.95) },
    { kind: 'give_back' },
  ],
];

for (const [name, facts, expected] of table) {
  test(name, () => assert.deepEqual(decideStorage({ ...fine, ...facts }), expected));
}

test('whatever is full, the steps end: each makes its cause smaller', () => {
  for (const [, facts] of table) {
    const state = { ...fine, ...facts, copies: [...(facts.copies ?? [])] };
    let left = 1_000;
    for (; left > 0; left--) {
      const { kind } = decideStorage(state);
      if (kind === 'wait') break;
      state.isShedding = kind === 'shed';
      if (kind === 'shed') state.freeBytes += mb(0.125);
      if (kind === 'remove_copy') state.copies.pop();
      if (kind === 'checkpoint') {
        state.logBytes = 0;
        state.diskBytes = state.fileBytes;
      }
      if (kind === 'give_back') {
        const given = Math.min(state.freeBytes, mb(0.25));
        state.fileBytes -= given;
        state.freeBytes -= given;
      }
    }
    assert.ok(left > 0, JSON.stringify(facts));
  }
});

test('file, log, newest copy and the next copy together are never more than the budget', () => {
  for (const budgetBytes of [16, 64, 100, 4096].map(mb)) {
    const { rowBytes, logBytes } = roomOf({ budgetBytes, isCopied: true });
    assert.ok(3 * rowBytes + logBytes <= budgetBytes);
    assert.equal(roomOf({ budgetBytes, isCopied: false }).rowBytes, budgetBytes);
  }
});

test('messages for the cloud never take so much that history has to go for them', () => {
  for (const budgetBytes of [16, 64, 4096].map(mb)) {
    const { rowBytes } = roomOf({ budgetBytes, isCopied: true });
    assert.ok(outboxRoom({ budgetBytes, isCopied: true }) <= rowBytes / 4);
  }
  assert.equal(outboxRoom({ budgetBytes: mb(4096), isCopied: false }), mb(1024));
});

test('the default is a quarter of the disk, within limits', () => {
  assert.deepEqual(
    [256, 30, 16 * 1024, 64 * 1024].map((size) => defaultBudget(mb(size)) / mebibyte),
    [64, 16, 4096, 4096],
  );
});

test('the kind of history that takes most goes first', () => {
  const kinds = ['events', 'samples', 'hours', 'transitions'] as const;
  for (const most of kinds) {
    const usage = { events: 1, samples: 2, hours: 1, transitions: 2, [most]: 3 };
    assert.equal(kindToShed(usage, kinds), most);
  }
});

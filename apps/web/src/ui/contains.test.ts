import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contains } from './contains.ts';

test('each typed word must occur, without regard to case and accents', () => {
  assert.ok(contains('Ceiling lamp Power: On by Zoë', 'zoe  LAMP'));
  assert.ok(contains('Кухня', 'кухн'));
  assert.ok(!contains('Ceiling lamp', 'lamp off'));
});

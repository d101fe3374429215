import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progressBar } from './progress-bar.ts';

test('a bar is filled by its percentage and has one width; without a percentage there is none', () => {
  assert.equal(progressBar(0), `${'░'.repeat(24)} 0 %`);
  assert.equal(progressBar(25.4), `${'█'.repeat(6)}${'░'.repeat(18)} 25 %`);
  assert.equal(progressBar(100), `${'█'.repeat(24)} 100 %`);
  assert.equal(progressBar(null), '');
});

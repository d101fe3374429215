import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { exactly } from './limited-copy.ts';

test('content that nobody begins to read is released with what passes it on', { timeout: 5_000 }, async () => {
  const content = new PassThrough();
  const closed = once(content, 'close');
  exactly(content, 5).destroy();
  await closed;
  assert.ok(content.destroyed);
});

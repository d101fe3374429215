import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayConnect } from './may-connect.ts';

test('the owner may, and who was it before the cloud named another; an admin may not', () => {
  assert.equal(mayConnect({ role: 'owner' }), true);
  assert.equal(mayConnect({ role: 'admin', wasOwner: true }), true);
  assert.equal(mayConnect({ role: 'admin' }), false);
  assert.equal(mayConnect({ role: 'member' }), false);
});

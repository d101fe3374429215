import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubtsOf } from './doubts-decide.ts';

const at = '2026-11-25T03:00:00.000Z';

for (const { name, createdAt = at, own = 'this', namedAt = at, doubts } of [
  { name: 'its own backup, of the time in its name', doubts: [] },
  { name: 'made some seconds after its name was chosen', createdAt: '2026-11-25T03:00:20.000Z', doubts: [] },
  { name: 'of another station', own: 'other', doubts: ['other_station'] },
  { name: 'on a new station', own: null, doubts: [] },
  { name: 'an old one under a new name', createdAt: '2026-10-25T03:00:00.000Z', doubts: ['older_than_name'] },
  { name: 'a new one under an old name', createdAt: '2026-11-26T03:00:00.000Z', doubts: ['newer_than_name'] },
  { name: 'a name that says nothing', namedAt: null, doubts: [] },
  {
    name: 'an old one of another station',
    own: 'other',
    createdAt: '2020-01-01T00:00:00.000Z',
    doubts: ['other_station', 'older_than_name'],
  },
])
  test(name, () => assert.deepEqual(doubtsOf({ stationId: 'this', createdAt }, { own, namedAt }), doubts));

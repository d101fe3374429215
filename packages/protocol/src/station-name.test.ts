import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundUrl } from './station-name.ts';

test('the address of a station whose name another machine has', () => {
  assert.equal(foundUrl('http://station.local', 'station-2.local'), 'http://station-2.local');
  assert.equal(foundUrl('http://Cabin.local:8080', 'Cabin-3.local'), 'http://cabin-3.local:8080');
  for (const [url, mdnsName] of [
    ['http://station.local', 'station.local'],
    ['http://station.local', null],
    ['http://station.local', 'cabin.local'],
    ['http://192.168.1.20', 'station-2.local'],
    ['https://home.example.org/station', 'station-2.local'],
  ] as const)
    assert.equal(foundUrl(url, mdnsName), url);
});

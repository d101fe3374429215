import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytesOf, isSame, pushObstacle } from './push.ts';

const able = { isSecure: true, hasPush: true, isApple: false, isInstalled: false, permission: 'default' } as const;

describe('whether this browser can show notifications', () => {
  const rows = [
    ['a usual browser', able, null],
    ['a page without encryption', { ...able, isSecure: false, hasPush: false }, 'insecure'],
    ['an iPhone in its browser', { ...able, hasPush: false, isApple: true }, 'home_screen'],
    ['an app on the home screen of an iPhone', { ...able, isApple: true, isInstalled: true }, null],
    [
      'an old iPhone with the app on its home screen',
      { ...able, hasPush: false, isApple: true, isInstalled: true },
      'unsupported',
    ],
    ['a browser without push messages', { ...able, hasPush: false }, 'unsupported'],
    ['a person who said no', { ...able, permission: 'denied' }, 'denied'],
  ] as const;
  for (const [name, facts, obstacle] of rows) it(name, () => assert.equal(pushObstacle(facts), obstacle));
});

describe('the key of the station', () => {
  it('is read as bytes, and compared with the one of a subscription', () => {
    const key = bytesOf('BP-_');
    assert.deepEqual([...key], [4, 255, 191]);
    assert.ok(isSame(key.buffer, key));
    assert.ok(!isSame(bytesOf('BP-A').buffer, key));
    assert.ok(!isSame(null, key));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFairPlaces, type FairPlaces } from './fair-places.ts';

/** Places are named by who enters; the part before `:` is the person, the part before `-` the session. */
const enter = (places: FairPlaces<string>, name: string): string | null => {
  const [session = ''] = name.split('-');
  const [person = ''] = session.split(':');
  return places.enter(name, [person, session]);
};

describe('fair places', () => {
  it('takes the oldest place of a holder above its share, and of nobody else', () => {
    const places = createFairPlaces<string>({ each: 2, all: 10 });
    assert.equal(enter(places, 'owner:a-1'), null);
    assert.equal(enter(places, 'member:a-1'), null);
    assert.equal(enter(places, 'member:a-2'), null);
    assert.equal(enter(places, 'member:a-3'), 'member:a-1');
    places.leave('member:a-2');
    assert.equal(enter(places, 'member:a-4'), null, 'there is room again');
  });

  it('takes from whoever holds most when all places are taken', () => {
    const places = createFairPlaces<string>({ each: 3, all: 4 });
    for (const name of ['owner:a-1', 'member:a-1', 'member:a-2', 'member:a-3']) assert.equal(enter(places, name), null);
    assert.equal(enter(places, 'guest:a-1'), 'member:a-1');
    assert.equal(enter(places, 'owner:a-2'), 'member:a-2');
    assert.equal(enter(places, 'owner:a-3'), 'owner:a-1', 'who holds most has to give');
    assert.equal(enter(places, 'other:a-1'), 'owner:a-2');
  });

  it('takes the oldest of all when everybody holds one', () => {
    const places = createFairPlaces<string>({ each: 2, all: 2 });
    assert.equal(enter(places, 'one:a-1'), null);
    assert.equal(enter(places, 'two:a-1'), null);
    assert.equal(enter(places, 'three:a-1'), 'one:a-1');
    assert.equal(enter(places, 'two:a-2'), 'two:a-1', 'never somebody else who holds as little');
  });

  it('takes, of one person, from the session that holds most', () => {
    const places = createFairPlaces<string>({ each: 4, all: 10 });
    for (const name of ['owner:wall-1', 'owner:loop-1', 'owner:loop-2', 'owner:loop-3']) enter(places, name);
    assert.equal(enter(places, 'owner:loop-4'), 'owner:loop-1');
    assert.equal(enter(places, 'owner:phone-1'), 'owner:loop-2');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beatMs, createHeartbeat } from './heartbeat.ts';

function watch({ hidden = false } = {}) {
  let pings = 0;
  const heartbeat = createHeartbeat({ ping: () => (pings += 1), isHidden: () => hidden });
  return { ...heartbeat, pings: () => pings, beats: (count: number) => Array.from({ length: count }, heartbeat.beat) };
}

describe('a heartbeat', () => {
  it('asks a station that says nothing, and calls it silent within two seconds', () => {
    const { beats, pings } = watch();
    const silentAt = beats(10).indexOf('silent');
    assert.equal(pings(), 1);
    // A message may have come right after a beat.
    assert.ok((silentAt + 2) * beatMs <= 2_000, `${silentAt} beats`);
  });

  it('is content with every message, and asks again when it is quiet', () => {
    const { beats, heard, pings } = watch();
    for (let round = 0; round < 20; round++) {
      assert.deepEqual(beats(3), ['fine', 'fine', 'fine']);
      heard();
    }
    assert.equal(pings(), 20);
  });

  it('hears a silent station again', () => {
    const { beats, heard } = watch();
    assert.equal(beats(5).at(-1), 'silent');
    heard();
    assert.equal(beats(1).at(-1), 'fine');
  });

  it('gives the connection up after six seconds', () => {
    const deadAt = watch().beats(30).indexOf('dead');
    assert.equal((deadAt - 1) * beatMs, 5_600);
  });

  it('asks every ten seconds while nobody sees the page', () => {
    const { beats, heard, pings } = watch({ hidden: true });
    for (let round = 0; round < 4; round++) {
      beats(25);
      heard();
    }
    assert.equal(pings(), 4);
  });
});

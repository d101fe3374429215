import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { challengeKeyOf, createPasskeyChallenges, type Purpose } from './passkey-challenges.ts';

const key = challengeKeyOf(Buffer.alloc(32, 7));
const purposes: Purpose[] = [
  { kind: 'log_in', host: 'station.local' },
  { kind: 'log_in', host: 'home.example' },
  { kind: 'add', host: 'station.local', userId: 'a', password: 'x' },
  { kind: 'add', host: 'home.example', userId: 'a', password: 'x' },
  { kind: 'add', host: 'station.local', userId: 'b', password: 'x' },
  { kind: 'add', host: 'station.local', userId: 'a', password: 'y' },
];

test('a challenge is good for its purpose only', () => {
  const challenges = createPasskeyChallenges({ key, clock: manualClock() });
  for (const issued of purposes) {
    const challenge = challenges.issue(issued);
    assert.notEqual(challenge, challenges.issue(issued));
    const accepted = purposes.filter((purpose) => challenges.accepts(challenge, purpose));
    assert.deepEqual(accepted, [issued]);
  }
});

test('backends with the same secret know those of each other, also after a restart; others do not', () => {
  const clock = manualClock();
  const one = createPasskeyChallenges({ key, clock });
  const other = createPasskeyChallenges({ key, clock });
  const foreign = createPasskeyChallenges({ key: challengeKeyOf(Buffer.alloc(32, 8)), clock });
  for (const purpose of purposes) {
    assert.equal(other.accepts(one.issue(purpose), purpose), true);
    assert.equal(foreign.accepts(one.issue(purpose), purpose), false);
  }
});

test('a changed one, or the same in another spelling, is refused', () => {
  const challenges = createPasskeyChallenges({ key, clock: manualClock() });
  const purpose = purposes[0]!;
  const challenge = challenges.issue(purpose);
  const bytes = Buffer.from(challenge, 'base64url');
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index] = changed[index]! ^ 1;
    assert.equal(challenges.accepts(changed.toString('base64url'), purpose), false, `byte ${index}`);
  }
  const padded = bytes.toString('base64');
  for (const other of ['', '?', challenge.slice(1), `${challenge}A`, `${challenge}=`, `${challenge} `, padded]) {
    assert.equal(challenges.accepts(other, purpose), other === challenge, other);
  }
});

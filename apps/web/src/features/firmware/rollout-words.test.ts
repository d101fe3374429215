import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import type { Device } from '@station/protocol/devices';
import { type Firmware, type Rollout, rolloutStates, type RolloutTarget } from '@station/protocol/firmware-rollouts';
import { textsOf } from '../../../testing/texts-of.ts';
import { withRollout, withTarget } from './follow-firmware.ts';
import { countBehind, firmwareHeadline, phaseWords, stoppedLast, targetWords, toneOfRollout } from './rollout-words.ts';
import { attentionOf } from './rollouts.ts';

const at = '2026-11-21T02:00:00.000Z';
const none = { waiting: 0, updating: 0, updated: 0, failed: 0, skipped: 0 };

const i18n = createInstance();
await i18n.init({ lng: 'en', resources: { en: { translation: await textsOf('en') } }, fallbackLng: false });
const t = i18n.t as TFunction;

const rollout = (
  more: Omit<Partial<Rollout>, 'devices'> & { devices?: Partial<Rollout['devices']> } = {},
): Rollout => ({
  id: 'r1',
  type: 'climate',
  version: '2.0.0',
  state: 'running',
  wave: 0,
  waves: 4,
  reason: null,
  requestedBy: null,
  createdAt: at,
  endedAt: null,
  ...more,
  devices: { ...none, ...more.devices },
});

const target = (more: Partial<RolloutTarget>): RolloutTarget => ({
  deviceId: 'd1',
  state: 'waiting',
  phase: null,
  percent: null,
  wave: null,
  failures: 0,
  reason: null,
  changedAt: at,
  ...more,
});

test('a rollout shows where it is, from its state and its counts alone', () => {
  const cases: [Parameters<typeof rollout>[0], string][] = [
    [{ state: 'waiting_approval' }, 'Waiting for approval'],
    [{ devices: { waiting: 5 } }, 'Waiting for the first device'],
    [{ devices: { updating: 1, waiting: 4 } }, 'Trying the first device'],
    [{ devices: { updated: 1 } }, 'The first device runs it. The others follow once it has run well for a while.'],
    [{ wave: 1, devices: { updating: 2 } }, 'Wave 2 of 4'],
    [{ state: 'paused', wave: 1 }, 'Paused'],
    [{ state: 'done', devices: { updated: 5 } }, 'Done'],
    [{ state: 'done', devices: { updated: 4, failed: 1 } }, 'Done, but 1 device failed to update'],
    [{ state: 'stopped', devices: { failed: 1 } }, 'Stopped, because the first device failed to update'],
    [{ state: 'stopped', wave: 2, devices: { failed: 3 } }, 'Stopped, because 3 devices failed to update'],
    [{ state: 'stopped' }, 'Stopped by the station'],
    [{ state: 'aborted' }, 'Stopped manually'],
    [{ state: 'superseded' }, 'Replaced by another version'],
  ];
  for (const [more, sentence] of cases) assert.equal(phaseWords(t, rollout(more)).sentence, sentence);
  // From counts alone it is not known which of the two it is.
  assert.match(
    phaseWords(t, rollout({ devices: { waiting: 5 } })).help,
    /no device can be reached, or .* not come back/,
  );
  const states = cases.map(([more]) => more?.state ?? 'running');
  assert.deepEqual([...new Set(states)].sort(), [...rolloutStates].sort());
});

test('a device shows how far it is, and whether it sleeps', () => {
  const asleep = { status: 'offline' } as Device;
  const cases: [Partial<RolloutTarget>, Device | undefined, string][] = [
    [{}, undefined, 'Waiting for its turn'],
    [{}, asleep, 'Asleep or switched off: gets it when it wakes up'],
    [{ state: 'updating', phase: 'offered' }, undefined, 'Asked to update'],
    [{ state: 'updating', phase: 'downloading', percent: 40 }, asleep, 'Downloading'],
    [{ state: 'updating', phase: 'installing', percent: 100 }, asleep, 'Starting with the new firmware'],
    [{ percent: 40, reason: 'It was interrupted.' }, undefined, 'Interrupted, continues automatically'],
    [{ failures: 1, reason: 'bad hash' }, undefined, 'Failed to update, will be tried once more'],
    [{ phase: 'installing', percent: 100 }, asleep, 'Has not come back yet, and the next wave waits for it'],
    [{ state: 'updated' }, undefined, 'Updated'],
    [{ state: 'failed', failures: 2 }, undefined, 'Failed to update, keeps its old firmware'],
    [{ state: 'skipped' }, undefined, 'Left as it was'],
  ];
  for (const [more, device, words] of cases) assert.equal(targetWords(t, target(more), device, rollout()), words);
  const away = target({ phase: 'installing', percent: 100 });
  assert.equal(targetWords(t, away, asleep, rollout({ wave: 3 })), 'Has not come back yet', 'nothing waits for it');
});

test('the most important comes first, and a stopped update only while nothing came after it', () => {
  const type = (version: string): Firmware => ({
    type: 'climate',
    images: [{ version: '2.0.0', size: 1, readyAt: at }],
    installed: [
      { version, devices: 3 },
      { version: null, devices: 1 },
    ],
  });
  const stopped = rollout({ state: 'stopped', endedAt: at, devices: { failed: 1 } });
  const waiting = rollout({ id: 'r2', state: 'waiting_approval' });
  const done = rollout({ id: 'r3', state: 'done' });
  const words = (version: string, rollouts: Rollout[]): string =>
    firmwareHeadline({ t, nameOf: () => 'Climate sensor' }, [type(version)], rollouts).words;
  assert.equal(words('1.0.0', [stopped]), 'The last update of Climate sensor was stopped.');
  assert.equal(words('1.0.0', [waiting, stopped]), '1 update is waiting for approval.');
  assert.equal(words('1.0.0', [rollout()]), 'Devices are being updated.');
  assert.equal(words('1.0.0', [done]), '3 devices could have newer firmware.');
  assert.equal(words('2.0.0', [done]), 'All devices are up to date.');
  assert.equal(countBehind([type('1.0.0'), type('2.1.0')]), 3);
  assert.deepEqual(stoppedLast([done, stopped]), []);
  assert.equal(toneOfRollout(stopped), 'fault');
});

test('home shows what waits or was stopped, until it was seen', () => {
  const stopped = rollout({ state: 'stopped', endedAt: at });
  const waiting = rollout({ id: 'r2', type: 'light', state: 'waiting_approval' });
  assert.equal(attentionOf([rollout(), rollout({ id: 'r0', state: 'done' })], null), null);
  assert.equal(attentionOf([stopped, waiting], null)?.id, 'r1');
  assert.equal(attentionOf([stopped, waiting], at)?.id, 'r2');
  assert.equal(attentionOf([stopped], at), null);
});

test('a message of the station updates the right rollout', () => {
  const old = rollout();
  const other = rollout({ id: 'r0' });
  const changed = rollout({ wave: 1 });
  assert.deepEqual(withRollout([old, other], changed), [changed, other]);
  assert.deepEqual(withRollout([other], old), [old, other]);
  const before = { ...old, targets: [target({}), target({ deviceId: 'd2' })] };
  const after = withTarget(before, changed, target({ state: 'updating', percent: 5 }));
  assert.deepEqual([after.wave, after.targets.map(({ state }) => state)], [1, ['updating', 'waiting']]);
  assert.equal(withTarget(before, changed, target({ deviceId: 'd3' })).targets.length, 3);
  assert.deepEqual(withTarget(before, changed, null).targets, before.targets);
});

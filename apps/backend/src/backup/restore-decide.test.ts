import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReplaced, nextRestoreStep, startsOnTrial, type RestorePhase } from './restore-decide.ts';

const step = (phase: RestorePhase, { starts = 0, parts = null }: { starts?: number; parts?: string[] | null } = {}) =>
  nextRestoreStep({ phase, starts, parts }).kind;

test('each phase has its step', () => {
  assert.equal(nextRestoreStep(null).kind, 'clean');
  assert.equal(step('ready'), 'move_out');
  assert.equal(step('ready', { parts: ['people'] }), 'wait_for_database');
  assert.equal(step('moving_in'), 'move_in');
  assert.equal(step('trial'), 'try');
  assert.equal(step('trial', { starts: startsOnTrial - 1 }), 'try');
  assert.equal(step('trial', { starts: startsOnTrial }), 'give_up');
  assert.equal(step('undoing'), 'set_restored_aside');
  assert.equal(step('moving_back'), 'move_back');
});

test('only the data of a station is replaced', () => {
  const replaced = ['station.sqlite', 'station.sqlite-wal', 'station.sqlite.replacing', 'jwt-secret', 'device-types'];
  const kept = ['added-devices.json', 'station.sqlite.damaged-20260101', 'backup-work', 'restore.json', 'lost+found'];
  assert.deepEqual([...replaced, ...kept].filter(isReplaced), replaced);
});

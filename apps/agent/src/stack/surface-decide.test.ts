import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requiredParts, surfaceAfterRevert, surfaceFault, surfaceOf } from './surface-decide.ts';
import type { Surface, SurfaceFindings } from './surface-ports.ts';

const shown: SurfaceFindings = {
  page: { kind: 'modules', fault: null },
  socket: true,
  setup: false,
  logIn: 401,
  devices: ['lamp'],
};
const nothing: SurfaceFindings = {
  page: { kind: null, fault: 'the page answers 404' },
  socket: false,
  setup: null,
  logIn: 404,
  devices: [],
};
const before = surfaceOf(shown);

test('what a release showed is required of the next one, and nothing else', () => {
  assert.deepEqual(requiredParts(before), ['setup', 'page', 'socket', 'logIn', 'devices']);
  assert.deepEqual(requiredParts(surfaceOf(nothing)), []);
  assert.deepEqual(requiredParts(surfaceOf({ ...nothing, setup: true })), ['setup']);
});

describe('devices that were online', () => {
  const devices = (count: number): string[] => Array.from({ length: count }, (_, index) => `device-${index}`);
  const fault = (wanted: string[], heard: string[]) => surfaceFault('devices', { ...before, devices: wanted }, heard);

  test('are back when four of five are; of two or more, one may be switched off', () => {
    const needed = [1, 2, 3, 4, 5, 6, 10, 11, 60].map((count) => {
      const all = devices(count);
      return all.findIndex((_, back) => fault(all, all.slice(0, back + 1)) === null) + 1;
    });
    assert.deepEqual(needed, [1, 1, 2, 3, 4, 5, 8, 9, 48]);
    assert.notEqual(fault(devices(2), []), null);
  });

  test('are counted by their ids, so that new ones do not stand in for them', () => {
    assert.equal(fault(devices(5), [...devices(3), 'x', 'y', 'z']), 'only 3 of 5 devices came back');
  });
});

test('accounts must not be gone; that the first one was made is no fault', () => {
  const needed: Surface = { ...before, setupNeeded: true };
  assert.match(surfaceFault('setup', before, true) ?? '', /accounts are gone/);
  assert.match(surfaceFault('setup', needed, null) ?? '', /does not answer/);
  assert.deepEqual([surfaceFault('setup', needed, false), surfaceFault('setup', needed, true)], [null, null]);
});

test('a log-in that refuses too many tries works; one that fails, is missing or silent does not', () => {
  const fault = (status: number) => surfaceFault('logIn', before, status);
  assert.deepEqual([401, 400, 403, 429].map(fault), [null, null, null, null]);
  for (const status of [500, 502, 404, 405, 200, 0]) assert.notEqual(fault(status), null, `${status}`);
});

test('a page that was drawn by modules is blank with other scripts alone', () => {
  const fault = (page: Surface['page'], kind: NonNullable<Surface['page']>) =>
    surfaceFault('page', { ...before, page }, { kind, fault: null });
  assert.equal(fault('modules', 'scripts'), 'the page is blank');
  for (const [was, is] of [
    ['modules', 'modules'],
    ['modules', 'text'],
    ['scripts', 'modules'],
    ['text', 'scripts'],
  ] as const)
    assert.equal(fault(was, is), null, `${was} → ${is}`);
});

test('of the previous release nothing is required when it runs again but the devices that stayed away', () => {
  const failure = { code: 'release_devices_away' };
  assert.deepEqual(requiredParts(surfaceAfterRevert({ surface: before, failure })!), ['devices']);
  assert.equal(surfaceAfterRevert({ surface: before, failure: { code: 'release_page_broken' } }), null);
  assert.equal(surfaceAfterRevert({ failure }), null);
});

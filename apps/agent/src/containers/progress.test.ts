import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgressMeter } from './progress.ts';

test('nothing is known before the first pull', () => {
  assert.deepEqual(createProgressMeter().read(), { doneBytes: 0, totalBytes: null, percent: null });
});

test('several pulls are weighted by their bytes', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 90, totalBytes: 100 });
  meter.update('frontend', { doneBytes: 0, totalBytes: 900 });
  assert.deepEqual(meter.read(), { doneBytes: 90, totalBytes: 1000, percent: 9 });
});

test('what the registry told before counts more than what a pull tells', () => {
  const meter = createProgressMeter();
  meter.expect(1000);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 1000, percent: 0 });
  meter.update('backend', { doneBytes: 100, totalBytes: 200 });
  assert.equal(meter.read().percent, 10);
});

test('a pull of unknown size leaves the whole unknown', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 50, totalBytes: 100 });
  meter.update('frontend', { doneBytes: 7, totalBytes: null });
  assert.deepEqual(meter.read(), { doneBytes: 57, totalBytes: null, percent: null });
});

test('it never goes back when a pull starts over', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 80, totalBytes: 100 });
  assert.equal(meter.read().percent, 80);
  meter.update('backend', { doneBytes: 5, totalBytes: 100 });
  assert.equal(meter.read().percent, 80);
});

test('it never goes beyond the whole', () => {
  const meter = createProgressMeter();
  meter.expect(100);
  meter.update('backend', { doneBytes: 250, totalBytes: 250 });
  assert.deepEqual(meter.read(), { doneBytes: 100, totalBytes: 100, percent: 100 });
});

test('nothing to fetch is done', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 0, totalBytes: 0 });
  assert.equal(meter.read().percent, 100);
});

test('the next operation begins at zero', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 80, totalBytes: 100 });
  meter.read();
  meter.expect(null);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: null, percent: null });
});

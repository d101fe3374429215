import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgressMeter } from './image-fetch.ts';

test('nothing is known before the first pull', () => {
  assert.deepEqual(createProgressMeter().read(), { doneBytes: 0, totalBytes: null, percent: null });
});

test('several pulls are weighted by their bytes', () => {
  const meter = createProgressMeter();
  meter.update('backend', { doneBytes: 90, totalBytes: 100 });
  meter.update('frontend', { doneBytes: 0, totalBytes: 900 });
  assert.deepEqual(meter.read(), { doneBytes: 90, totalBytes: 1000, percent: 9 });
});

test('sizes from the registry count more than those of a pull', () => {
  const meter = createProgressMeter();
  meter.expect(1000);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 1000, percent: 0 });
  meter.update('backend', { doneBytes: 100, totalBytes: 200 });
  assert.equal(meter.read().percent, 10);
});

test('a layer that two images share counts once', () => {
  const meter = createProgressMeter();
  // Of 1000 bytes 500 are a layer of both.
  meter.expect(1000);
  meter.update('backend', { doneBytes: 0, totalBytes: 700 });
  meter.update('frontend', { doneBytes: 0, totalBytes: 800 });
  meter.update('backend', { doneBytes: 500, totalBytes: 700 });
  assert.equal(meter.read().doneBytes, 500);
  meter.update('frontend', { doneBytes: 500, totalBytes: 800 });
  assert.equal(meter.read().doneBytes, 500);
  meter.update('backend', { doneBytes: 700, totalBytes: 700 });
  meter.update('frontend', { doneBytes: 650, totalBytes: 800 });
  assert.deepEqual(meter.read(), { doneBytes: 850, totalBytes: 1000, percent: 85 });
  meter.update('frontend', { doneBytes: 800, totalBytes: 800 });
  assert.equal(meter.read().percent, 100);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPullMeter, type PullLine } from './pull-meter.ts';

const digest = (start: string): string => `sha256:${start.padEnd(64, '0')}`;
const sizes = { [digest('aaaaaaaaaaaa')]: 1000, [digest('bbbbbbbbbbbb')]: 3000 };
const downloading = (id: string, current: number, total: number): PullLine => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});

test('weighs layers by their bytes, from the sizes the registry told', () => {
  const meter = createPullMeter(sizes);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 4000 });
  meter.add(downloading('bbbbbbbbbbbb', 1500, 3000));
  assert.deepEqual(meter.read(), { doneBytes: 1500, totalBytes: 4000 });
  meter.add({ id: 'aaaaaaaaaaaa', status: 'Already exists' });
  assert.deepEqual(meter.read(), { doneBytes: 2500, totalBytes: 4000 });
  meter.add({ id: 'bbbbbbbbbbbb', status: 'Download complete' });
  assert.deepEqual(meter.read(), { doneBytes: 4000, totalBytes: 4000 });
});

test('never goes back when a layer is fetched again', () => {
  const meter = createPullMeter(sizes);
  meter.add(downloading('bbbbbbbbbbbb', 2000, 3000));
  meter.add(downloading('bbbbbbbbbbbb', 100, 3000));
  assert.equal(meter.read().doneBytes, 2000);
});

test('says that the total is unknown until every layer has told its size', () => {
  const meter = createPullMeter({});
  assert.equal(meter.read().totalBytes, null);
  meter.add({ id: 'aaaaaaaaaaaa', status: 'Pulling fs layer' });
  meter.add(downloading('bbbbbbbbbbbb', 10, 50));
  assert.deepEqual(meter.read(), { doneBytes: 10, totalBytes: null });
  meter.add(downloading('aaaaaaaaaaaa', 5, 20));
  assert.deepEqual(meter.read(), { doneBytes: 15, totalBytes: 70 });
});

test('passes over lines that are about no layer', () => {
  const meter = createPullMeter(sizes);
  for (const line of [{ status: 'Pulling from a/b', id: '1.0.0' }, { status: 'Digest: sha256:…' }, {}]) meter.add(line);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 4000 });
});

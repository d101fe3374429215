import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createIntentFile, cleanUpHotspot, intentFile } from './hotspot-cleanup.ts';

for (const [name, content, isStarted] of [
  ['starts the proxy that a hotspot of before has stopped, until it runs', '{"proxyStopped":true,"bootId":"a"}', true],
  ['does not start a proxy that was not stopped', '{"proxyStopped":false,"bootId":"a"}', false],
  ['does not start the proxy without a readable file', 'no json', false],
] as const)
  test(name, async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'station-hotspot-cleanup-'));
    t.after(() => rm(dataDir, { recursive: true }));
    await writeFile(join(dataDir, intentFile), content);
    const answers = ['failed', 'failed', 'started'] as const;
    let starts = 0;
    const proxy = {
      stop: async () => 'failed' as const,
      start: async () => answers[starts++] ?? ('started' as const),
    };
    const intent = createIntentFile({ disk: nodeDisk, dataDir, bootId: 'b' });
    const clock = { ...systemClock, sleep: async () => undefined };
    let undone = 0;
    const undoHotspot = async (): Promise<void> => void (undone += 1);
    await cleanUpHotspot({ intent, undoHotspot, proxy, clock }, new AbortController().signal);
    assert.equal(starts, isStarted ? 3 : 0);
    assert.equal(undone, 1);
    const after = await readFile(join(dataDir, intentFile), 'utf8');
    if (isStarted) assert.equal((JSON.parse(after) as { proxyStopped: boolean }).proxyStopped, false);
    else assert.equal(after, content);
  });

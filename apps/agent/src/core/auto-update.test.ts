import assert from 'node:assert/strict';
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { type AgentEvent, events as catalogue } from '@station/protocol/events';
import { autoUpdateFile, openAutoUpdate } from './auto-update.ts';

const openFolder = () => mkdtempDisposable(join(tmpdir(), 'auto-update-'));

/** As at a start of the agent. */
async function open(dataDir: string, configured: boolean, disk: Disk = nodeDisk) {
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe((event) => void events.push(event));
  const autoUpdate = await openAutoUpdate({ disk, dataDir, configured, logger });
  return { autoUpdate, names: () => events.map(({ event }) => event) };
}

const failing = (method: 'read' | 'write' | 'sync', code: string, times = Infinity): Disk => {
  let left = times;
  return {
    ...nodeDisk,
    [method]: async (...args: never[]) => {
      left -= 1;
      if (left >= 0) throw Object.assign(new Error(code), { code });
      return (nodeDisk[method] as (...all: never[]) => unknown)(...args);
    },
  };
};

describe('whether updates are installed automatically', () => {
  it('is AUTO_UPDATE until a person chooses, at once and after a restart', async () => {
    for (const configured of [true, false]) {
      await using folder = await openFolder();
      const { autoUpdate } = await open(folder.path, configured);
      let changes = 0;
      autoUpdate.onChange(() => (changes += 1));
      assert.deepEqual([autoUpdate.isOn(), autoUpdate.choice()], [configured, null]);
      await autoUpdate.choose(!configured);
      assert.deepEqual([autoUpdate.isOn(), autoUpdate.choice(), changes], [!configured, !configured, 1]);
      const restarted = await open(folder.path, configured);
      assert.equal(restarted.autoUpdate.isOn(), !configured);
      await restarted.autoUpdate.choose(null);
      assert.deepEqual([restarted.autoUpdate.isOn(), restarted.autoUpdate.choice()], [configured, null]);
      assert.equal((await open(folder.path, configured)).autoUpdate.choice(), null);
      assert.deepEqual(await readdir(folder.path), [autoUpdateFile]);
    }
  });

  it('is what the last of two people chose who chose together', async () => {
    await using folder = await openFolder();
    const { autoUpdate, names } = await open(folder.path, true);
    await Promise.all([autoUpdate.choose(false), autoUpdate.choose(true), autoUpdate.choose(false)]);
    assert.equal(autoUpdate.isOn(), false);
    assert.equal((await open(folder.path, true)).autoUpdate.isOn(), false);
    await autoUpdate.choose(false);
    assert.equal(names().length, 3, 'the same choice again is not written');
  });

  it('is AUTO_UPDATE when the file is damaged, which the log says', async () => {
    for (const content of ['', 'true', '{"autoUpdate":"no"}', '{}', '{"autoUpdate":fal']) {
      await using folder = await openFolder();
      await writeFile(join(folder.path, autoUpdateFile), content);
      const { autoUpdate, names } = await open(folder.path, true);
      assert.deepEqual([autoUpdate.isOn(), autoUpdate.choice()], [true, null], content);
      assert.deepEqual(names(), ['state_repaired']);
      await autoUpdate.choose(false);
      assert.equal((await open(folder.path, true)).autoUpdate.isOn(), false);
    }
  });

  it('is read although the disk fails a few times; an unreadable file stops no agent', async () => {
    await using folder = await openFolder();
    await (await open(folder.path, true)).autoUpdate.choose(false);
    assert.equal((await open(folder.path, true, failing('read', 'EIO', 3))).autoUpdate.isOn(), false);
    const { autoUpdate, names } = await open(folder.path, true, failing('read', 'EIO'));
    assert.deepEqual([autoUpdate.isOn(), names()], [true, ['state_repaired']]);
  });

  it('stays as it was on a full disk, which the person is told', async () => {
    for (const method of ['write', 'sync'] as const) {
      await using folder = await openFolder();
      await (await open(folder.path, true)).autoUpdate.choose(false);
      const before = await readFile(join(folder.path, autoUpdateFile), 'utf8');
      const { autoUpdate, names } = await open(folder.path, true, failing(method, 'ENOSPC'));
      await assert.rejects(autoUpdate.choose(true), { code: 'disk_space_low' });
      assert.deepEqual([autoUpdate.isOn(), names()], [false, []]);
      assert.equal(await readFile(join(folder.path, autoUpdateFile), 'utf8'), before);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { extent } from '../rig/extent.ts';
import { createRandom, extremes } from './choice.ts';
import {
  cacheDir,
  copyFirmwareWorld,
  createFirmwareWorld,
  cutFirmwarePower,
  setImageBytes,
  type FirmwareWorld,
} from './firmware-world.ts';
import { findCacheFaults, findRestFaults, runFirmware, type FirmwareRunOptions } from './firmware-run.ts';
import { systemError } from './simulated-disk.ts';

/** A station with 1.0.0 cached and handed over, for which 1.1.0 is published. */
async function prepare(): Promise<FirmwareWorld> {
  const world = createFirmwareWorld({ lamp: '1.0.0' });
  const run = await runFirmware(world);
  assert.deepEqual(findRestFaults(world, run), []);
  world.offered = { lamp: '1.1.0', climate: '2.0.0' };
  world.installed = { lamp: ['1.0.0'] };
  world.sentBytes = 0;
  return world;
}

type Snapshot = { index: number; label: string; world: FirmwareWorld };

/** One crash point (or faulty operation) in so many is tried. */
const every = extent(4, 1);

/** Every crash point of a run, with the world as it is right before it. */
async function snapshots(start: FirmwareWorld, options: FirmwareRunOptions = {}): Promise<Snapshot[]> {
  const kept: Snapshot[] = [];
  const own = copyFirmwareWorld(start);
  const onPoint = (index: number, label: string): void =>
    void kept.push({ index, label, world: copyFirmwareWorld(own) });
  const run = await runFirmware(own, { ...options, onPoint });
  assert.deepEqual(findRestFaults(own, run), []);
  return kept;
}

/** `kill`: only the agent is killed; a number: a power cut with this survival variant. */
type Crash = 'kill' | number;

function crash(world: FirmwareWorld, kind: Crash): FirmwareWorld {
  const crashed = copyFirmwareWorld(world);
  if (kind !== 'kill') cutFirmwarePower(crashed, kind);
  return crashed;
}

async function explore(
  start: FirmwareWorld,
  options: { second: number; wrapDisk?: FirmwareRunOptions['wrapDisk'] },
): Promise<{ tried: number; faults: string[] }> {
  const random = createRandom(7);
  const faults: string[] = [];
  const { wrapDisk } = options;
  const more = wrapDisk ? { wrapDisk } : {};
  let tried = 0;
  const judge = async (world: FirmwareWorld, what: string): Promise<void> => {
    tried += 1;
    const found = findCacheFaults(world).map((fault) => `at once: ${fault}`);
    const run = await runFirmware(world, more);
    for (const fault of [...found, ...findRestFaults(world, run)]) faults.push(`${what}: ${fault}`);
  };
  for (const { index, label, world } of await snapshots(start, more)) {
    if (index % every !== 0) continue;
    const cuts: Crash[] = Array.from({ length: extremes }, (_, variant) => variant);
    for (const kind of ['kill', ...cuts, extremes + Math.floor(random() * 1e6)] as Crash[]) {
      await judge(crash(world, kind), `${index} ${label} ${kind}`);
      if (random() >= options.second) continue;
      const again = crash(world, kind);
      const endAt = 1 + Math.floor(random() * 60);
      await runFirmware(again, { ...more, endAt });
      const second: Crash = random() < 0.3 ? 'kill' : Math.floor(random() * 1e6);
      await judge(crash(again, second), `${index} ${label} ${kind}, then ${endAt} ${second}`);
    }
  }
  return { tried, faults };
}

describe('firmware interrupted at any point', () => {
  test('never publishes partial files, and ends published and handed over', async () => {
    const { tried, faults } = await explore(await prepare(), { second: 0.25 });
    assert.ok(tried > 500 / every, `${tried}`);
    assert.deepEqual(faults.slice(0, 10), []);
  });

  for (const [flaw, wrapDisk] of Object.entries<NonNullable<FirmwareRunOptions['wrapDisk']>>({
    'does not sync files': (disk) => ({
      ...disk,
      sync: async (path) => (path === cacheDir ? disk.sync(path) : undefined),
    }),
    'does not sync directories': (disk) => ({
      ...disk,
      sync: async (path) => (path.includes('.') ? disk.sync(path) : undefined),
    }),
  })) {
    test(`finds the flaw of an agent that ${flaw}`, async () => {
      const { faults } = await explore(await prepare(), { second: 0, wrapDisk });
      assert.ok(faults.length > 0);
    });
  }

  test('fetches at most 5 % again', async () => {
    setImageBytes(400_000);
    try {
      const world = await prepare();
      world.offered = { lamp: '1.1.0' };
      const all = await snapshots(world);
      let most = 0;
      for (const snapshot of all.filter(({ index }) => index % (5 * every) === 0)) {
        for (const kind of ['kill', 0, 2] as Crash[]) {
          const crashed = crash(snapshot.world, kind);
          const run = await runFirmware(crashed);
          assert.deepEqual(findRestFaults(crashed, run), []);
          most = Math.max(most, crashed.sentBytes / 400_000);
        }
      }
      assert.ok(most > 0.9 && most <= 1.05, `${most}`);
    } finally {
      setImageBytes(40_000);
    }
  });
});

describe('a full disk', () => {
  test('at any byte leaves the cache unchanged, is reported, and the download completes when there is space', async () => {
    const start = await prepare();
    const used = 45_000;
    let full = 0;
    for (let room = used; room < used + 140_000; room += 700 * every) {
      const world = copyFirmwareWorld(start);
      world.capacity = room;
      const run = await runFirmware(world, { forMs: 1800_000 });
      assert.deepEqual(findCacheFaults(world), [], `${room}`);
      const lamp = run.status.items.find(({ name }) => name === 'lamp');
      assert.ok(lamp, `${room}: the previous firmware still exists`);
      const isDone = run.status.items.length === 2 && lamp.version === '1.1.0' && lamp.handedOver === true;
      if (!isDone || run.status.items.some(({ handedOver }) => handedOver !== true)) {
        full += 1;
        assert.ok(run.raised.includes('firmware_cache_not_writable'), `${room}: ${JSON.stringify(run.events)}`);
        assert.ok(run.status.lastError !== null, `${room}`);
      }
      world.capacity = null;
      assert.deepEqual(findRestFaults(world, await runFirmware(world)), [], `${room}`);
    }
    assert.ok(full > 20 / every, `${full}`);
  });

  test('that fails once at any operation is retried', async () => {
    const start = await prepare();
    const operations: string[] = [];
    await runFirmware(copyFirmwareWorld(start), {
      diskFault: (operation) => (operations.push(operation), null),
    });
    for (const code of ['EIO', 'ENOSPC'] as const) {
      for (let at = 1; at <= operations.length; at += 2 * every) {
        const world = copyFirmwareWorld(start);
        let count = 0;
        const run = await runFirmware(world, {
          diskFault: (operation, path) => ((count += 1) === at ? systemError(code, operation, path) : null),
        });
        assert.deepEqual(findRestFaults(world, run), [], `${code} ${at}`);
      }
    }
  });
});

describe('a file that the disk cannot read', () => {
  const damaged = ['/data/firmware.json', `${cacheDir}/lamp.json`, `${cacheDir}/lamp@1.0.0.bin`];
  for (const path of damaged) {
    for (const kind of ['unreadable', 'directory'] as const) {
      test(`counts as damaged after a while, is reported, and does not stop the rest: ${path}, ${kind}`, async () => {
        const world = await prepare();
        // Version 1.0.0 stays the newest one, so the damaged file itself must be fetched again.
        world.offered = { lamp: '1.0.0', climate: '2.0.0' };
        const id = world.disk.names.get(path);
        assert.ok(id !== undefined, `there is a ${path}`);
        if (kind === 'directory') world.disk.inodes.set(id, { kind });
        const isWorn = (at: string): boolean =>
          kind === 'unreadable' && at === path && world.disk.names.get(path) === id;
        const run = await runFirmware(world, {
          diskFault: (operation, at) => (operation === 'read' && isWorn(at) ? systemError('EIO', operation, at) : null),
        });
        assert.deepEqual(findRestFaults(world, run), []);
        const repaired = run.events.filter(({ event }) => event === 'state_repaired');
        assert.equal(repaired.at(-1)?.reason, 'the disk cannot read it');
        // The next start reports nothing more.
        const next = await runFirmware(world);
        assert.ok(!next.events.some(({ event }) => event === 'state_repaired'));
      });
    }
  }

  test('is fetched again when it belongs to an unfinished download', async () => {
    for (const unfinished of ['.part', '.part.json']) {
      const start = await prepare();
      const begun = (await snapshots(start)).findLast(({ label }) => /append .*part$/.test(label));
      assert.ok(begun);
      const { world } = begun;
      let worn: number | undefined;
      const run = await runFirmware(world, {
        diskFault: (operation, at) => {
          if (operation !== 'read' || !at.endsWith(unfinished)) return null;
          worn ??= world.disk.names.get(at);
          return worn !== undefined && world.disk.names.get(at) === worn ? systemError('EIO', operation, at) : null;
        },
      });
      assert.ok(worn !== undefined, `${unfinished} was read`);
      assert.deepEqual(findRestFaults(world, run), [], unfinished);
      assert.ok(world.sentBytes <= 3.1 * 40_000, `${unfinished}: ${world.sentBytes} bytes for two images`);
      const isReported = run.events.some(({ reason }) => reason === 'the disk cannot read it');
      assert.ok(isReported || unfinished === '.part.json');
    }
  });

  test('once, is only read again', async () => {
    for (const path of damaged) {
      const world = await prepare();
      let faults = 0;
      const run = await runFirmware(world, {
        diskFault: (operation, at) =>
          operation === 'read' && at === path && (faults += 1) <= 2 ? systemError('EIO', operation, at) : null,
      });
      assert.deepEqual(findRestFaults(world, run), [], path);
      assert.ok(faults >= 2 && !run.events.some(({ event }) => event === 'state_repaired'), path);
    }
  });
});

describe('old firmware', () => {
  test('stays until all devices have reported the new one', async () => {
    const world = await prepare();
    await runFirmware(world);
    assert.ok(world.disk.names.has(`${cacheDir}/lamp@1.0.0.bin`));
    world.installed = { lamp: ['1.1.0'] };
    const run = await runFirmware(world);
    assert.ok(!world.disk.names.has(`${cacheDir}/lamp@1.0.0.bin`));
    assert.ok(run.events.some(({ event }) => event === 'firmware_old_removed'));
  });

  test('is removed after 30 days', async () => {
    const world = await prepare();
    await runFirmware(world);
    world.time.wallMs += 31 * 24 * 3600_000;
    await runFirmware(world);
    assert.ok(!world.disk.names.has(`${cacheDir}/lamp@1.0.0.bin`));
    assert.ok(world.disk.names.has(`${cacheDir}/lamp@1.1.0.bin`));
  });
});

test('hands over again to a backend that has lost its records', async () => {
  const world = await prepare();
  await runFirmware(world);
  world.cached = {};
  const run = await runFirmware(world);
  assert.deepEqual(findRestFaults(world, run), []);
  assert.ok(run.events.some(({ event }) => event === 'firmware_handed_over'));
});

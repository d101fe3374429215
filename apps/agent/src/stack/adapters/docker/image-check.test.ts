import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { Clock } from '@station/kit/clock';
import { packArchive } from './archive.ts';
import type { EngineApi } from './engine-api.ts';
import { createImageCheck } from './image-check.ts';

const { signal } = new AbortController();
const mebibyte = 1024 * 1024;

type Answer = { status?: number; bytes: Uint8Array; breaksOff?: boolean };
type Engine = {
  streams: Record<string, Answer>;
  isContainerd?: boolean;
  inspected?: object;
  freeMiB?: (number | null)[];
  pin?: string;
};

function createCheck({ streams, isContainerd = false, inspected = {}, freeMiB = [null], pin = 'pin' }: Engine) {
  const read: string[] = [];
  const sleeps: number[] = [];
  let nowMs = 0;
  const call: EngineApi['call'] = async (_, path) => {
    if (path === '/version') return { status: 200, body: {} };
    return { status: 200, body: { Size: 100 * mebibyte, ...inspected } };
  };
  const stream: EngineApi['stream'] = async (path) => {
    read.push(path);
    const { status = 200, bytes, breaksOff = false } = streams[path] ?? { status: 404, bytes: new Uint8Array() };
    const content = async function* (): AsyncGenerator<Buffer> {
      for (let at = 0; at < bytes.length; at += 1000) {
        nowMs += 30;
        yield Buffer.from(bytes.subarray(at, at + 1000));
      }
      if (breaksOff) throw new Error('aborted');
    };
    return { status, content: content() };
  };
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: async (ms) => void sleeps.push(ms),
  };
  const free = [...freeMiB];
  const check = createImageCheck({
    api: { call, stream },
    info: async () => ({
      DockerRootDir: '/',
      OSType: 'linux',
      DriverStatus: isContainerd ? [['driver-type', 'io.containerd.snapshotter.v1']] : null,
    }),
    clock,
    freeBytes: async () => {
      const mib = free.length > 1 ? free.shift() : free[0];
      return typeof mib === 'number' ? mib * mebibyte : null;
    },
    pin: async () => (pin === 'broken' ? { kind: pin } : { kind: 'pinned', name: pin }),
    alive: () => undefined,
  });
  return { check: (isIdle = false) => check('sha256:1', { isIdle, signal }), read, sleeps };
}

const archive = '/images/sha256%3A1/get';

describe('an image of a graph driver', () => {
  const good: Answer = { bytes: Buffer.alloc(2000) };

  test('is whole when the engine gives it to its end', async () => {
    assert.deepEqual(await createCheck({ streams: { [archive]: good } }).check(), { kind: 'whole' });
  });

  for (const [what, answer] of [
    ['refused', { ...good, status: 500 }],
    ['broken off', { ...good, breaksOff: true }],
    ['empty', { bytes: new Uint8Array() }],
  ] as const) {
    test(`is damaged when it is ${what}; the engine has no second copy`, async () => {
      const found = await createCheck({ streams: { [archive]: answer }, freeMiB: [1000] }).check();
      assert.ok(found.kind === 'damaged' && found.archiveBytes === null && found.layer === null);
    });
  }

  test('is not read without room for its copy, and nothing is known when the room goes meanwhile', async () => {
    const cramped = createCheck({ streams: { [archive]: good }, freeMiB: [90] });
    assert.deepEqual([await cramped.check(), cramped.read], [{ kind: 'unknown' }, []]);
    const filled = createCheck({ streams: { [archive]: { ...good, breaksOff: true } }, freeMiB: [1000, 10] });
    assert.deepEqual(await filled.check(), { kind: 'unknown' });
  });

  test('is damaged when a layer has lost the file that names it', async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'station-overlay2-'));
    t.after(() => rm(root, { recursive: true }));
    const paths: string[] = [];
    for (const [name, link] of [
      ['top', 'A'.repeat(26)],
      ['middle', 'B'.repeat(26)],
      ['base', ''],
    ] as const) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'link'), link);
      paths.push(join(root, name, 'diff'));
    }
    const [top = '', middle = '', base = ''] = paths;
    const isDamaged = async (Name: string, Data: Record<string, string> | null): Promise<boolean> => {
      const engine = { streams: { [archive]: good }, inspected: { GraphDriver: { Name, Data } } };
      return (await createCheck(engine).check()).kind === 'damaged';
    };
    assert.equal(await isDamaged('overlay2', { UpperDir: top, LowerDir: `${middle}:${base}` }), true);
    assert.equal(await isDamaged('overlay2', { UpperDir: base }), true);
    assert.equal(await isDamaged('overlay2', { UpperDir: top, LowerDir: middle }), false);
    assert.equal(await isDamaged('overlay2', null), false);
    assert.equal(await isDamaged('btrfs', { UpperDir: base }), false);
  });
});

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** An archive as containerd's store gives it: a compressed layer with these files. */
function imageOf(files: Record<string, string>, pack: (bytes: Uint8Array) => Uint8Array = gzipSync) {
  const blob = pack(packArchive(files));
  const name = `blobs/sha256/${digestOf(blob)}`;
  return {
    blob,
    archiveOf: (content: Uint8Array): Buffer =>
      Buffer.concat([
        tarOf(name, content),
        tarOf('manifest.json', Buffer.from(JSON.stringify([{ Layers: [name] }]))),
        Buffer.alloc(1024),
      ]),
  };
}

/** One entry, with its header and without an end. */
function tarOf(name: string, content: Uint8Array): Buffer {
  const whole = packArchive({ [name]: 'x'.repeat(content.length) });
  const entry = whole.subarray(0, whole.length - 1024);
  entry.set(content, 512);
  return entry;
}

describe('an image of containerd', () => {
  const files = { app: 'the program', data: 'what it needs' };
  const { blob, archiveOf } = imageOf(files);
  const container = '/containers/pin/export';
  const checkWith = (seen: Answer, image: Answer = { bytes: archiveOf(blob) }, pin = 'pin') =>
    createCheck({ streams: { [archive]: image, [container]: seen }, isContainerd: true, pin }).check();

  test('is whole when its container has the files of its layers, gzip, zstd or plain', async () => {
    const made = packArchive({ ...files, '.dockerenv': '', 'etc/hosts': '' });
    for (const pack of [gzipSync, zstdCompressSync, (bytes: Uint8Array) => bytes]) {
      const image = imageOf(files, pack);
      assert.deepEqual(await checkWith({ bytes: made }, { bytes: image.archiveOf(image.blob) }), { kind: 'whole' });
    }
  });

  for (const [what, seen] of [
    ['an empty file', { ...files, app: '' }],
    ['a changed byte', { ...files, app: 'the Program' }],
    ['a missing file', { app: files.app }],
    ['a file too many', { ...files, more: '' }],
  ] as const) {
    test(`is damaged and can be made again: ${what}`, async () => {
      const found = await checkWith({ bytes: packArchive(seen) });
      assert.ok(found.kind === 'damaged' && found.layer === 0 && (found.archiveBytes ?? 0) > blob.length);
    });
  }

  test('is damaged and can be made again when no container of it can be made or read', async () => {
    for (const found of [
      await checkWith({ bytes: packArchive(files) }, undefined, 'broken'),
      await checkWith({ status: 500, bytes: new Uint8Array() }),
      await checkWith({ bytes: packArchive(files).subarray(0, 700) }),
    ]) {
      assert.ok(found.kind === 'damaged' && found.layer === null && found.archiveBytes !== null);
    }
  });

  test('has no copy to be made from when a layer has another digest, is missing, or ends early', async () => {
    const zeros = Buffer.alloc(blob.length);
    for (const bytes of [archiveOf(zeros), archiveOf(blob).subarray(0, 800), new Uint8Array()]) {
      const found = await checkWith({ bytes: packArchive(files) }, { bytes });
      assert.ok(found.kind === 'damaged' && found.archiveBytes === null);
    }
  });

  test('is read slowly when nothing waits for it', async () => {
    const big = imageOf({ app: 'x'.repeat(20_000) }, (bytes) => bytes);
    const streams = { [archive]: { bytes: big.archiveOf(big.blob) }, [container]: { bytes: packArchive({}) } };
    for (const isIdle of [true, false]) {
      const { check, sleeps } = createCheck({ streams, isContainerd: true });
      await check(isIdle);
      assert.equal(sleeps.length > 5, isIdle);
    }
  });
});

// npm run bench -- firmware-mutants [--count N] [--seed N]
// Tries mutants of ESP32 images: every single bit and every truncation of header and descriptor, wrong chip, swapped
// files, bootloader and merged images, and random changes. Each mutant is tried twice: as damage in transit (the
// manifest names the good image) and as a publishing mistake (the manifest names the mutant). No mutant may reach the
// cache, and each refusal must have a reason. A sample also runs through the agent's whole firmware duty, over HTTP to
// a cache on disk.
import { events as catalogue } from '@station/protocol/events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheDisk } from '@station/agent/firmware/adapters/cache-disk';
import { openDownload } from '@station/agent/firmware/adapters/http-download';
import { fetchSmallFile } from '@station/agent/core/adapters/http-client';
import { createAgentConditions } from '@station/kit/conditions';
import { createFirmware } from '@station/agent/firmware/firmware';
import { createFirmwareSource } from '@station/agent/firmware/firmware-poll';
import { checksumOf, gunzip, sha256 } from '@station/agent/firmware/firmware-cache';
import { verifyFirmware } from '@station/agent/firmware/image-decide';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { startFirmwareServer } from '@station/simulators/firmware/firmware-server';
import { buildBootloader, buildImage, mergeImages } from '@station/simulators/firmware/image-builder';
import { createRandom } from '../faults/choice.ts';
import { waitFor } from '../rig/program.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const count = Number(values.count);
const random = createRandom(Number(values.seed));
const below = (most: number): number => Math.floor(random() * most);

/** Header, first segment header and descriptor. */
const headBytes = 24 + 8 + 256;
const recipe = { project: 'lamp', version: '1.2.3', chip: 'esp32' };
const seeds = [4096, 9000, 24_000].map((bytes) => buildImage({ ...recipe, bytes }));
const [small] = seeds as [Uint8Array];

const accepted: string[] = [];
const perKind: Record<string, number> = {};
const reasons = new Map<string, number>();

/**
 * @param good the image in the manifest when the mutant is damage in transit; null: the mutant can only be a publishing
 * mistake.
 */
function judge(kind: string, mutant: Uint8Array, good: Uint8Array | null, chip: string | null = 'esp32'): void {
  const named = good === null ? [mutant] : [good, mutant];
  for (const image of named) {
    perKind[kind] = (perKind[kind] ?? 0) + 1;
    const verdict = verifyFirmware({ bytes: mutant, sha256, gunzip }, entryOf(image, chip), null);
    if (verdict.kind === 'ok')
      accepted.push(`${kind} (${image === mutant ? 'published like this' : 'damaged in transit'})`);
    else reasons.set(verdict.reason, (reasons.get(verdict.reason) ?? 0) + 1);
    if (verdict.kind === 'refused' && verdict.reason === '') accepted.push(`${kind}: without a reason`);
  }
}

const entryOf = (image: Uint8Array, chip: string | null): FirmwareEntry => ({
  name: 'lamp',
  version: '1.2.3',
  url: 'http://server/lamp.bin',
  checksum: checksumOf(image),
  size: image.length,
  chip,
  minVersion: null,
});

for (const seed of seeds) {
  const verdict = verifyFirmware({ bytes: seed, sha256, gunzip }, entryOf(seed, 'esp32'), null);
  if (verdict.kind !== 'ok') throw new Error(`the unchanged image is refused: ${verdict.reason}`);
}

const started = performance.now();
for (let bit = 0; bit < headBytes * 8; bit += 1) {
  const mutant = Uint8Array.from(small);
  mutant[bit >> 3] = (mutant[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  judge('single bits of header and descriptor', mutant, small);
  judge('single bits, no chip named', mutant, small, null);
}
for (let length = 0; length < headBytes; length += 1)
  judge('truncations of the head', small.slice(0, length), small, null);
for (let length = headBytes; length < small.length; length += 1)
  judge('truncations after the head', small.slice(0, length), small, null);
for (const chip of ['esp32s2', 'esp32s3', 'esp32c3', 'esp32c6', 'esp32h2', 'esp32p4']) {
  const other = buildImage({ ...recipe, chip });
  judge('wrong chip', other, null, 'esp32');
  judge('bootloaders', buildBootloader(chip), null, null);
  judge('merged images', mergeImages(other, chip), null, null);
}
judge('bootloaders', buildBootloader('esp32'), small, null);
judge('merged images', mergeImages(small), small, null);
trySwappedFiles();
for (let index = 0; index < count; index += 1) {
  const seed = seeds[below(seeds.length)] ?? small;
  judge('random', mutate(seed), seed);
}
const seconds = (performance.now() - started) / 1000;
process.stderr.write(`${seconds.toFixed(1)} s; reasons:\n`);
for (const [reason, times] of [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 25)) {
  process.stderr.write(`${String(times).padStart(8)} ${reason}\n`);
}
const published = await tryWholeDuty();

const done = Object.values(perKind).reduce((sum, each) => sum + each, 0);
const ok = accepted.length === 0 && published.length === 0 && (perKind['random'] ?? 0) >= count;
for (const each of [...accepted, ...published].slice(0, 20)) process.stderr.write(`ACCEPTED: ${each}\n`);
process.stdout.write(
  `${JSON.stringify({ bench: 'firmware-mutants', value: done, unit: 'mutants', ratio: (done - accepted.length) / done, goal: 1, ok, perKind })}\n`,
);
process.exitCode = ok ? 0 : 1;

/** Each of two firmwares has the other's file: a mistake of the server or of the manifest's author. */
function trySwappedFiles(): void {
  const lamp = { facts: { chip: 'esp32', project: 'lamp' }, image: small };
  const climates = ['esp32', 'esp32s3'].map((chip) => ({
    facts: { chip, project: 'climate' },
    image: buildImage({ project: 'climate', version: '1.2.3', chip, bytes: 9000 }),
  }));
  for (const climate of climates) {
    for (const [mine, other] of [
      [lamp, climate],
      [climate, lamp],
    ] as const) {
      const verdicts = [
        verifyFirmware({ bytes: other.image, sha256, gunzip }, entryOf(mine.image, null), null),
        verifyFirmware({ bytes: other.image, sha256, gunzip }, entryOf(other.image, null), mine.facts, [other.facts]),
      ];
      perKind['swapped files'] = (perKind['swapped files'] ?? 0) + verdicts.length;
      if (verdicts.some(({ kind }) => kind === 'ok')) accepted.push('swapped files');
    }
  }
}

/** The result must differ from the seed. */
function mutate(seed: Uint8Array): Uint8Array {
  for (;;) {
    const mutant = mutateOnce(seed);
    if (Buffer.compare(mutant, seed) !== 0) return mutant;
  }
}

function mutateOnce(seed: Uint8Array): Uint8Array {
  let mutant = Buffer.from(seed);
  for (let changes = 1 + below(4); changes > 0; changes -= 1) {
    // Half of the changes are in the head, which is a small part of the image.
    const at = random() < 0.5 ? below(Math.min(headBytes, mutant.length)) : below(mutant.length);
    const length = 1 + below(64);
    // Nothing is appended: a maker may do that.
    const kind = below(8);
    if (kind <= 1) mutant[at] = (mutant[at] ?? 0) ^ (1 << below(8));
    else if (kind === 2) mutant[at] = below(256);
    else if (kind === 3) mutant.subarray(at, at + length).fill(random() < 0.5 ? 0 : 0xff);
    else if (kind === 4) mutant = Buffer.concat([mutant.subarray(0, at), mutant.subarray(at + length)]);
    else if (kind === 5)
      mutant = Buffer.concat([mutant.subarray(0, at), Buffer.alloc(length, below(256)), mutant.subarray(at)]);
    else if (kind === 6) mutant = mutant.subarray(0, at);
    else mutant.copyWithin(at, below(mutant.length), below(mutant.length));
    mutant = Buffer.from(mutant);
    if (mutant.length === 0) break;
  }
  return mutant;
}

/** The agent's whole firmware duty. At the end the cache may contain only the good image. */
async function tryWholeDuty(): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'station-firmware-mutants-'));
  await using server = await startFirmwareServer();
  const events: string[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe(({ event, ...fields }) => {
    if (event === 'firmware_refused' && 'reason' in fields) events.push(String(fields.reason));
  });
  const directory = join(folder, 'cache');
  const firmware = createFirmware({
    source: createFirmwareSource({
      url: new URL(server.manifestUrl),
      keys: null,
      maxBytes: 2 ** 20,
      fetchFile: fetchSmallFile,
    }),
    disk: cacheDisk,
    open: openDownload,
    backend: {
      deviceTypes: async () => ({ kind: 'ok', types: [] }),
      firmwareReady: async () => ({ kind: 'ok' }),
      announceTypes: async () => ({ kind: 'ok' }),
    },
    conditions: createAgentConditions(systemClock, logger),
    clock: systemClock,
    logger,
    random,
    directory,
    folder: '/firmware',
    dataDir: join(folder, 'data'),
    bootId: 'boot',
    maxBytes: 2 ** 20,
    checkIntervalMs: 3600_000,
    isUsualAddress: false,
    isClockRight: async () => true,
    isAutomatic: () => true,
    isLineTaken: () => false,
  });
  const stopping = new AbortController();
  const mutants = 200;
  for (let index = 0; index < mutants; index += 1) {
    const image = mutate(small);
    // Every second one is damaged only in transit.
    server.offer(`m${index}`, '1.0.0', index % 2 === 0 ? image : small, { chip: 'esp32' });
    if (index % 2 === 1) server.put(`m${index}-1.0.0.bin`, image);
  }
  server.offer('good', '1.0.0', small);
  const running = firmware.run(stopping.signal).catch(() => undefined);
  try {
    await waitFor(
      'every mutant to be refused',
      () => events.length >= mutants && firmware.status().items.length > 0,
      120_000,
    );
    const files = (await readdir(directory)).filter((file) => !file.startsWith('good'));
    perKind['through the whole duty'] = mutants;
    return files.map((file) => `${file} is in the cache`);
  } finally {
    stopping.abort(new Error('done'));
    await running;
    await rm(folder, { recursive: true, force: true });
  }
}

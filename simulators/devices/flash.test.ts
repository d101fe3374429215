import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { buildImage, checksumOfFile } from '../firmware/image-builder.ts';
import { folderStore, memoryStore, openFlash, sectorBytes, type Flash, type FlashStore } from './flash.ts';

const factory = { project: 'light', version: '1.0.0', chip: 'esp32' };
const image = buildImage({ project: 'light', version: '1.1.0', bytes: 60_000 });
const order = { version: '1.1.0', checksum: checksumOfFile(image), size: image.length };
const pieceBytes = 5_000;

/** Writes the missing part and selects the image, as a device does. */
function install(flash: Flash, bytes: Uint8Array = image, wanted = order): void {
  for (let at = flash.begin(wanted); at < bytes.length; at += pieceBytes) {
    flash.write(bytes.subarray(at, at + pieceBytes));
  }
  assert.ok(flash.received().equals(bytes), 'byte for byte');
  flash.select();
}

class PowerLoss extends Error {}

/** Fails after `afterBytes`. A part of the current piece is written; noise fills the rest of the sector. */
function withPowerLoss(store: FlashStore, afterBytes: number): FlashStore {
  let left = afterBytes;
  const spend = (bytes: number): void => {
    left -= bytes;
    if (left < 0) throw new PowerLoss();
  };
  return {
    ...store,
    append: (name, bytes) => {
      if (bytes.length > left) {
        const written = (store.read(name)?.length ?? 0) + left;
        const noise = Buffer.alloc(sectorBytes - (written % sectorBytes), 0xa5);
        store.append(name, Buffer.concat([bytes.subarray(0, left), noise]));
      } else store.append(name, bytes);
      spend(bytes.length);
    },
    // A record is written completely or not at all.
    replace: (name, bytes) => {
      spend(bytes.length);
      store.replace(name, bytes);
    },
  };
}

test('runs a new image on trial at its first start, and keeps it after it is confirmed', () => {
  const store = memoryStore();
  const flash = openFlash(store, factory);
  assert.deepEqual(flash.boot(), { version: '1.0.0', isOnTrial: false, isCrashing: false });
  install(flash);
  assert.deepEqual(openFlash(store, factory).boot(), { version: '1.1.0', isOnTrial: true, isCrashing: false });
  const again = openFlash(store, factory);
  assert.equal(again.boot().version, '1.0.0', 'the new image was not confirmed');
  install(again);
  assert.equal(again.boot().version, '1.1.0');
  again.confirm();
  assert.deepEqual(openFlash(store, factory).boot(), { version: '1.1.0', isOnTrial: false, isCrashing: false });
});

test('recognises an image built to crash by its version or project', () => {
  for (const recipe of [
    { project: 'light', version: '1.1.0-crash' },
    { project: 'light-crash', version: '1.1.0' },
  ]) {
    const bytes = buildImage(recipe);
    const flash = openFlash(memoryStore(), factory);
    flash.boot();
    install(flash, bytes, { version: recipe.version, checksum: checksumOfFile(bytes), size: bytes.length });
    assert.ok(flash.boot().isCrashing);
    assert.equal(flash.boot().version, '1.0.0');
  }
});

test('does not start an image that is damaged in the flash', () => {
  const store = memoryStore();
  const flash = openFlash(store, factory);
  flash.boot();
  install(flash);
  store.truncate('slot1', 30_000);
  assert.equal(openFlash(store, factory).boot().version, '1.0.0');
});

test('after a power cut at any point it starts a complete image and keeps the received part', async () => {
  await using folder = await temporaryFolder();
  let worst = 0;
  let cuts = 0;
  for (let cutAt = 1_500; cutAt < image.length + 2_000; cutAt += 397) {
    const store = cuts % 10 === 0 ? folderStore(`${folder.path}/${cutAt}`) : memoryStore();
    openFlash(store, factory).boot();
    const interrupted = openFlash(withPowerLoss(store, cutAt), factory);
    const before = (): number => store.read('slot1')?.length ?? 0;
    try {
      interrupted.boot();
      install(interrupted);
      continue;
    } catch (error) {
      if (!(error instanceof PowerLoss)) throw error;
      cuts += 1;
    }
    const written = Math.min(before(), cutAt);
    const flash = openFlash(store, factory);
    const started = flash.boot();
    assert.ok(['1.0.0', '1.1.0'].includes(started.version));
    if (started.version === '1.1.0') continue;
    const kept = flash.begin(order);
    worst = Math.max(worst, written - kept);
    install(flash);
    assert.deepEqual(openFlash(store, factory).boot(), { version: '1.1.0', isOnTrial: true, isCrashing: false });
  }
  assert.ok(cuts > 140, `${cuts} cuts`);
  assert.ok(worst <= 2 * sectorBytes, `${worst} bytes received twice`);
});

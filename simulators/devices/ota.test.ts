import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '@station/backend/testing/until';
import { startFirmwareServer, type Fault } from '../firmware/firmware-server.ts';
import { buildImage, checksumOfFile, type ImageRecipe } from '../firmware/image-builder.ts';
import { memoryStore, openFlash, sectorBytes } from './flash.ts';
import { createOta, type Ota, type OtaOrder } from './ota.ts';

const recipe: ImageRecipe = { project: 'light', version: '1.1.0', bytes: 400_000 };
const image = buildImage(recipe);

type Scene = { ota: Ota; reports: (number | string)[]; version(): string; isReady(): boolean; cut(): void };

function createScene(bytesPerSecond?: number): Scene {
  const store = memoryStore();
  const reports: (number | string)[] = [];
  let ready = 0;
  const start = () => {
    const flash = openFlash(store, { project: 'light', version: '1.0.0', chip: 'esp32' });
    flash.boot();
    const ota = createOta({
      flash,
      type: 'light',
      chip: 'esp32',
      ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
      report: { progress: (percent) => reports.push(percent), failed: (reason) => reports.push(reason) },
      onReady: () => (ready += 1),
    });
    return { flash, ota };
  };
  let device = start();
  return {
    ota: {
      start: (order) => device.ota.start(order),
      isBusy: () => device.ota.isBusy(),
      stop: () => device.ota.stop(),
    },
    reports,
    version: () => device.flash.boot().version,
    isReady: () => ready > 0,
    cut: () => {
      device.ota.stop();
      device = start();
    },
  };
}

async function serve(bytes = image) {
  const server = await startFirmwareServer();
  const { file } = server.offer('light', '1.1.0', bytes);
  const order: OtaOrder = {
    url: `${server.origin}/firmware/${file}`,
    version: '1.1.0',
    checksum: checksumOfFile(bytes),
    size: bytes.length,
  };
  const sent = (): number => server.requests.reduce((sum, { sentBytes }) => sum + sentBytes, 0);
  return { server, file, order, sent, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const steps = Array.from({ length: 21 }, (_, index) => index * 5);

describe('a device with an update command', () => {
  it('fetches, checks and selects the image, and reports every 5 % once', async () => {
    await using served = await serve();
    const { ota, reports, isReady, version } = createScene();
    ota.start(served.order);
    ota.start(served.order);
    await until('the image is ready', isReady);
    assert.deepEqual(reports, [0, ...steps]);
    assert.equal(version(), '1.1.0');
    assert.equal(served.sent(), image.length);
  });

  it('continues the download after each power cut', async () => {
    await using served = await serve();
    const { ota, reports, isReady, version, cut } = createScene(800_000);
    const starts: number[] = [];
    for (let percent = 10; percent < 100; percent += 15) {
      ota.start(served.order);
      await until(`${percent} %`, () => reports.some((report) => typeof report === 'number' && report >= percent));
      cut();
      starts.push((percent / 100) * image.length - 2 * sectorBytes);
    }
    ota.start(served.order);
    await until('the image is ready', isReady);
    assert.equal(version(), '1.1.0');
    const offsets = served.server.requests.slice(1).map(({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]));
    assert.equal(offsets.length, starts.length);
    for (const [index, start] of starts.entries()) assert.ok((offsets[index] ?? 0) >= start, `${offsets.join(' ')}`);
  });

  const passing: Record<string, [Fault, number]> = {
    'a connection that breaks': [{ kind: 'cut', afterBytes: 30_000 }, 3],
    'a server that fails': [{ kind: 'status', status: 503 }, 2],
    'a server without ranges': [{ kind: 'no_ranges' }, 99],
    'a server without ETags': [{ kind: 'no_etag' }, 99],
    'a new ETag with each answer': [{ kind: 'new_etag' }, 99],
  };
  for (const [name, [fault, times]] of Object.entries(passing)) {
    it(`updates despite ${name}`, async () => {
      await using served = await serve();
      const { ota, isReady, version, cut } = createScene(1_600_000);
      served.server.setFault(served.file, fault, times);
      ota.start(served.order);
      await until('a part is sent', () => served.sent() > 30_000 || times < 3);
      cut();
      ota.start(served.order);
      await until('the image is ready', isReady);
      assert.equal(version(), '1.1.0');
    });
  }

  const refused: Record<string, [Partial<ImageRecipe> | null, Partial<OtaOrder>, RegExp]> = {
    'a wrong checksum': [{}, { checksum: `sha256:${'0'.repeat(64)}` }, /checksum/],
    'a wrong size': [{}, { size: 50_000 }, /longer than announced/],
    'an image of another chip': [{ chip: 'esp32s3' }, {}, /esp32s3 instead of esp32/],
    'an image of another device': [{ project: 'climate' }, {}, /"climate" instead of "light"/],
    'no image': [null, {}, /not an image/],
  };
  for (const [name, [change, more, reason]] of Object.entries(refused)) {
    it(`refuses ${name} and keeps its version`, async () => {
      const bytes = change === null ? Buffer.alloc(9_000, 'text ') : buildImage({ ...recipe, ...change });
      await using served = await serve(bytes);
      const { ota, reports, isReady, version } = createScene();
      ota.start({ ...served.order, ...more });
      await until('the failure is reported', () => typeof reports.at(-1) === 'string');
      assert.match(String(reports.at(-1)), reason);
      assert.deepEqual([isReady(), ota.isBusy(), version()], [false, false, '1.0.0']);
    });
  }

  it('refuses a missing file', async () => {
    await using served = await serve();
    const { ota, reports } = createScene();
    ota.start({ ...served.order, url: `${served.order.url}x` });
    await until('the failure is reported', () => typeof reports.at(-1) === 'string');
    assert.match(String(reports.at(-1)), /404/);
  });
});

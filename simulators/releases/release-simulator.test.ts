import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { blobPath, parseProcessImage } from '../process-engine/process-image.ts';
import { readReleaseManifest } from '@station/protocol/release-manifest';
import { startReleaseSimulator, type ReleaseSimulator } from './release-simulator.ts';

async function withSimulator(work: (start: () => Promise<ReleaseSimulator>) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'station-releases-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true }));
  await work(async () => stack.use(await startReleaseSimulator({ folder, port: 0 })));
}

const manifestOf = async (simulator: ReleaseSimulator) => {
  const response = await fetch(simulator.manifestUrl);
  const reading = readReleaseManifest(await response.bytes(), null);
  return { reading, etag: response.headers.get('etag') ?? '' };
};

const post = (simulator: ReleaseSimulator, path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, simulator.url), { method: 'POST', headers, redirect: 'manual' });

describe('the release simulator', () => {
  it('offers 1.0.0 first, then one version after another, also after a restart', () =>
    withSimulator(async (start) => {
      const first = await start();
      assert.deepEqual((await manifestOf(first)).reading.kind, 'ok');
      assert.deepEqual(
        first.offers().map(({ version }) => version),
        ['1.0.0'],
      );
      await first.offer('good');
      await first.offer('crashes');
      await first[Symbol.asyncDispose]();
      const second = await start();
      assert.deepEqual(
        second.offers().map(({ version }) => version),
        ['1.2.0', '1.1.0', '1.0.0'],
      );
      const { reading } = await manifestOf(second);
      assert.equal(reading.kind === 'ok' && reading.manifest.version, '1.2.0');
    }));

  it('answers 304 to a client that has the manifest', () =>
    withSimulator(async (start) => {
      const simulator = await start();
      const { etag } = await manifestOf(simulator);
      const again = await fetch(simulator.manifestUrl, { headers: { 'if-none-match': etag } });
      assert.equal(again.status, 304);
      await simulator.offer('good');
      assert.notEqual((await manifestOf(simulator)).etag, etag);
    }));

  it('has the images of its offers, except the one that must be missing', () =>
    withSimulator(async (start) => {
      const simulator = await start();
      const good = await simulator.offer('good');
      const bad = await simulator.offer('missing');
      const get = (path: string) => fetch(new URL(`images/${path}`, simulator.url));
      for (const reference of Object.values(good.images)) {
        const image = parseProcessImage(await (await get(`${reference.replace(':', '/')}.json`)).bytes());
        assert.ok(image && image.files.length > 1);
        for (const { digest, size } of image.files) {
          assert.equal((await (await get(blobPath(digest))).bytes()).length, size);
        }
      }
      assert.equal((await get(`${bad.images['backend']?.replace(':', '/')}.json`)).status, 404);
      assert.equal((await get('%2e%2e/offers.json')).status, 404);
    }));

  it('keeps only the images of the last offers', () =>
    withSimulator(async (start) => {
      const simulator = await start();
      for (let count = 0; count < 5; count++) await simulator.offer('good');
      const status = async (version: string) =>
        (await fetch(new URL(`images/station-backend/${version}.json`, simulator.url))).status;
      assert.deepEqual([await status('1.0.0'), await status('1.1.0'), await status('1.5.0')], [404, 200, 200]);
    }));

  it('does not answer the station while unplugged, but shows its page', () =>
    withSimulator(async (start) => {
      const simulator = await start();
      assert.equal((await post(simulator, 'unplug')).status, 200);
      await assert.rejects(fetch(simulator.manifestUrl));
      await assert.rejects(fetch(new URL('images/station-backend/1.0.0.json', simulator.url)));
      const page = await (await fetch(simulator.url)).text();
      assert.ok(page.includes('Unplugged.') && page.includes('Plug the release server in again'));
      assert.equal((await post(simulator, 'plug-in')).status, 200);
      assert.equal((await manifestOf(simulator)).reading.kind, 'ok');
    }));

  it('accepts actions only from its own page', () =>
    withSimulator(async (start) => {
      const simulator = await start();
      const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };
      const pressed = await post(simulator, 'offers/crashes', { ...form, origin: simulator.url.slice(0, -1) });
      assert.deepEqual([pressed.status, pressed.headers.get('location')], [303, '/']);
      assert.equal(simulator.offers()[0]?.behaviour, 'crashes');
      assert.equal((await post(simulator, 'offers/good', { ...form, origin: 'http://elsewhere.example' })).status, 403);
      assert.equal((await post(simulator, 'offers/nonsense')).status, 404);
      assert.equal(simulator.offers().length, 2);
      const page = await (await fetch(simulator.url)).text();
      assert.ok(page.includes('Offer 1.2.0: a good release'));
      assert.doesNotMatch(page, /<script|src=/);
    }));
});

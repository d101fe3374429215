import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Refusal, root } from './options.ts';
import { byDigest, fullName, pinComposeFile } from './pinned-images.ts';

const digest = (of: string): string => `sha256:${of.repeat(64)}`;
const resolve = async (name: string): Promise<string> => digest(name.startsWith('postgres') ? 'b' : 'a');

test('every image of the published compose file has a digest, or is named by the signed manifest', async () => {
  const shipped = await readFile(join(root, 'deploy/docker-compose.yml'), 'utf8');
  const { text, images } = await pinComposeFile(shipped, { proxy: digest('c'), resolve });
  const named = [...text.matchAll(/^ +image: (.+)$/gm)].map(([, image = '']) => image);
  assert.deepEqual(
    named.filter((image) => !/@sha256:[0-9a-f]{64}\}$/.test(image)).map((image) => /\/(\w+):/.exec(image)?.[1]),
    ['backend', 'frontend'],
  );
  assert.ok(named.includes(`\${STATION_IMAGES}/proxy:\${PROXY_VERSION:-2@${digest('c')}}`));
  assert.ok(named.includes(`\${MQTT_IMAGE:-eclipse-mosquitto:2@${digest('a')}}`));
  assert.deepEqual(images, [
    { name: 'eclipse-mosquitto:2', digest: digest('a') },
    { name: 'postgres:17', digest: digest('b') },
  ]);
  const withoutDigests = text.replaceAll(/@sha256:[0-9a-f]{64}/g, '');
  assert.equal(withoutDigests, shipped, 'and nothing else is changed');
});

test('an image that cannot be pinned ends the release', async () => {
  const other = (image: string) => pinComposeFile(`    image: ${image}\n`, { proxy: digest('c'), resolve });
  for (const image of ['redis:7', '${REDIS_IMAGE}', '${A:-a:1}-b']) await assert.rejects(other(image), Refusal, image);
  const offline = { proxy: digest('c'), resolve: () => Promise.reject(new Refusal('no registry')) };
  await assert.rejects(pinComposeFile('    image: ${A:-a:1}\n', offline), /no registry/);
});

test('short names are those of Docker Hub', () => {
  assert.equal(fullName('postgres:17'), 'docker.io/library/postgres:17');
  assert.equal(fullName('grafana/loki:3'), 'docker.io/grafana/loki:3');
  for (const full of ['ghcr.io/owner/name:1', 'localhost:5000/name:1', 'docker.io/library/node:26']) {
    assert.equal(fullName(full), full);
  }
  assert.equal(byDigest('127.0.0.1:5000/name:1', 'sha256:1'), '127.0.0.1:5000/name@sha256:1');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { createReleaseSource, type ReleaseSourceParts } from './release-source.ts';

const signal = new AbortController().signal;
const images = { backend: 'registry.test/backend:2.0.0', frontend: 'registry.test/frontend:2.0.0' };

/** A release server with one manifest, which it gives out once to whoever names its ETag. */
function serve(manifest: object, knownServices: ReleaseSourceParts['knownServices']) {
  return createReleaseSource({
    url: new URL('https://releases.test/manifest.json'),
    publicKey: null,
    fetchFile: async (_, { etag }) =>
      etag === '"1"'
        ? { kind: 'not_modified' }
        : {
            kind: 'ok',
            bytes: new TextEncoder().encode(JSON.stringify(manifest)),
            etag: '"1"',
            url: 'https://releases.test/',
          },
    knownServices,
  });
}

test('a manifest that has not changed is not read again', async () => {
  const source = serve({ version: '2.0.0', images }, async () => ['backend', 'frontend']);
  const first = await source.check(null, signal);
  assert.deepEqual([first.kind, first.kind === 'ok' && first.changed], ['ok', true]);
  const second = await source.check(null, signal);
  assert.deepEqual([second.kind, second.kind === 'ok' && second.changed], ['ok', false]);
});

test('a manifest whose services could not be checked is not followed, and is checked as soon as they can be', async () => {
  let isReadable = false;
  const source = serve({ version: '2.0.0', images: { ...images, database: 'a:1' } }, async () => {
    if (isReadable) return ['backend', 'frontend'];
    throw new StationError('compose_project_unreadable', 'The compose project cannot be read: line 7');
  });
  assert.deepEqual(await source.check(null, signal), {
    kind: 'unavailable',
    reason: 'its services cannot be checked: The compose project cannot be read: line 7',
  });
  assert.equal(source.latest(), null);
  isReadable = true;
  const answer = await source.check(null, signal);
  assert.match(answer.kind === 'rejected' ? answer.reason : answer.kind, /"database"/);
  assert.equal(source.latest(), null);
});

test('a manifest that is none is rejected also while the services cannot be read', async () => {
  const source = serve({ version: 'latest', images }, () => Promise.reject(new Error('away')));
  assert.equal((await source.check(null, signal)).kind, 'rejected');
});

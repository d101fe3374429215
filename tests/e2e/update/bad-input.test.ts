import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { needPackages } from '../../rig/debian.ts';
import { run } from '../../rig/program.ts';
import { createReleaseServer, manifestPath } from '../../rig/release-server.ts';
import { assertRests, createStory, isUnsigned, type Story } from './story.ts';

const encode = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));

async function assertUntouched(story: Story, action: () => Promise<void>): Promise<void> {
  const before = (await story.rig.stack.containers()).map(({ id }) => id).sort();
  await action();
  assert.deepEqual((await story.rig.stack.containers()).map(({ id }) => id).sort(), before, 'the stack is untouched');
  await assertRests(story, '1.0.0');
}

test('manifests that must be rejected', async (t) => {
  await using story = await createStory();
  const { rig, agent } = story;
  const good = (await rig.release({ version: '1.1.0' })).manifest;
  const bad: Record<string, Uint8Array> = {
    'that is not JSON': encode('{"version": "1.1.0", '),
    'of more than 1 MiB': encode({ ...good, padding: 'x'.repeat(1024 * 1024) }),
    'with a service the stack does not have': encode({ ...good, images: { ...good.images, database: 'a:1' } }),
    'with an option in place of a reference': encode({ ...good, images: { ...good.images, backend: '--privileged' } }),
    'with a path in place of a reference': encode({ ...good, images: { ...good.images, backend: '../x' } }),
    'whose version is not SemVer': encode({ ...good, version: 'latest' }),
  };
  for (const [name, bytes] of Object.entries(bad)) {
    await t.test(`a manifest ${name} is rejected`, () =>
      assertUntouched(story, async () => {
        rig.releases.setManifest(bytes);
        const before = agent.events.length;
        const answer = await agent.call('POST', '/update');
        assert.deepEqual([answer.status, answer.body['code']], [502, 'manifest_rejected']);
        await agent.event('manifest_rejected', { after: before });
        assert.ok((await agent.status()).conditions.some(({ id }) => id === 'manifest_rejected'));
      }),
    );
  }

  await t.test('a redirect to another scheme is not followed', () =>
    assertUntouched(story, async () => {
      await writeFile(join(rig.workspace.folder, 'manifest.json'), JSON.stringify(good));
      const location = `file://${rig.workspace.folder}/manifest.json`;
      rig.releases.put(manifestPath, { bytes: encode(''), status: 302, headers: { location } });
      const answer = await agent.call('POST', '/update');
      assert.deepEqual([answer.status, answer.body['code']], [502, 'manifest_rejected']);
    }),
  );

  await t.test('a redirect within the scheme is followed', async () => {
    rig.releases.put('/elsewhere.json', { bytes: encode({ ...good, version: '1.0.0' }) });
    rig.releases.put(manifestPath, { bytes: encode(''), status: 302, headers: { location: '/elsewhere.json' } });
    assert.equal((await agent.call('POST', '/update')).body['result'], 'already_current');
    assert.ok(
      !(await agent.status()).conditions.some(({ id }) => id === 'manifest_rejected'),
      'the condition is cleared',
    );
  });

  await t.test('an unchanged manifest is requested conditionally', async () => {
    rig.releases.setManifest({ ...good, version: '1.0.0' });
    await agent.call('POST', '/check');
    await agent.call('POST', '/check');
    const polls = rig.releases.requests.filter(({ path }) => path === manifestPath);
    assert.equal(polls.at(-1)?.answered, 304);
  });

  await t.test('requests with bad versions and bodies are refused', () =>
    assertUntouched(story, async () => {
      for (const version of ['latest', '../x', '1.0', '']) {
        const answer = await agent.call('POST', '/update', { body: { version } });
        assert.equal(answer.status, 400, version);
      }
      assert.equal((await agent.call('POST', '/update', { body: { version: '1.1.0', extra: 1 } })).status, 400);
      assert.equal(
        (await agent.call('POST', '/update', { body: `{"version":"${'1'.repeat(10_000_000)}"}` })).status,
        413,
      );
    }),
  );
});

test('a release server whose certificate does not verify is refused', async () => {
  await needPackages(['openssl']);
  await using story = await createStory({ started: false });
  const { rig } = story;
  const { manifest } = await rig.release({ version: '1.1.0' });
  const key = join(rig.workspace.folder, 'key.pem');
  const certificate = join(rig.workspace.folder, 'certificate.pem');
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=127.0.0.1',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-keyout',
    key,
    '-out',
    certificate,
  ]);
  const secure = await createReleaseServer(rig.workspace, {
    tls: { keyFile: key, certificateFile: certificate },
  });
  secure.setManifest(manifest);
  const agent = await createAgentProcess(
    rig.workspace,
    agentEnv(rig, { UPDATE_SERVER_URL: secure.manifestUrl }),
    'secure',
  );
  await agent.start();
  await agent.idle();
  const answer = await agent.call('POST', '/update');
  assert.deepEqual([answer.status, answer.body['code']], [502, 'manifest_unavailable']);
  await assertRests({ rig, agent }, '1.0.0');
});

test('with a public key, only signed manifests that are not older than the newest one are accepted', async (t) => {
  await needPackages(['minisign']);
  await using story = await createStory({ started: false });
  const { rig } = story;
  const file = (name: string): string => join(rig.workspace.folder, name);
  const makeKey = async (name: string): Promise<string> => {
    await run('minisign', ['-G', '-W', '-p', file(`${name}.pub`), '-s', file(`${name}.sec`)]);
    return (await run('tail', ['-n', '1', file(`${name}.pub`)])).trim();
  };
  const publicKey = await makeKey('key');
  const agent = await createAgentProcess(rig.workspace, agentEnv(rig, { UPDATE_PUBLIC_KEY: publicKey }), 'signed');
  const sign = async (path: string, bytes: Uint8Array, options: string[] = [], key = 'key'): Promise<void> => {
    await writeFile(file('to-sign'), bytes);
    await run('minisign', ['-S', ...options, '-W', '-s', file(`${key}.sec`), '-m', file('to-sign')]);
    rig.releases.put(`${path}.minisig`, { bytes: await readFile(file('to-sign.minisig')) });
  };
  const publish = async (manifest: object, options: string[] = [], key = 'key'): Promise<void> => {
    const bytes = encode(manifest);
    await sign(manifestPath, bytes, options, key);
    rig.releases.setManifest(bytes);
  };
  const { manifest } = await rig.release({ version: '1.1.0' });
  await agent.start();
  assert.ok(!isUnsigned(await agent.idle()));

  await t.test('a missing or wrong signature is rejected', async () => {
    assert.equal((await agent.call('POST', '/update')).status, 502);
    await publish(manifest);
    rig.releases.setManifest({ ...manifest, notes: 'changed after signing' });
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.body['code'], 'manifest_rejected');
    assert.equal((await rig.stack.health())?.version, '1.0.0');
  });

  await t.test('a valid one is installed, with both signature formats of minisign', async () => {
    await publish(manifest);
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    const next = (await rig.release({ version: '1.2.0' })).manifest;
    await publish(next, ['-l']);
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await assertRests({ rig, agent }, '1.2.0');
  });

  await t.test('an older one is rejected although its signature verifies', async () => {
    await publish(manifest);
    const answer = await agent.call('POST', '/update', { body: { version: '1.1.1' } });
    assert.ok(
      agent.events.some((line) => line.event === 'manifest_rejected' && String(line['reason']).includes('older')),
    );
    assert.notEqual(answer.status, 200);
    assert.equal((await rig.stack.health())?.version, '1.2.0');
  });

  await t.test('another version is installed only by a signed manifest of its own', async () => {
    const other = encode((await rig.release({ version: '1.1.5' })).manifest);
    const path = manifestPath.replace(/[^/]*$/, 'releases/1.1.5.json');
    const ask = () => agent.call('POST', '/update', { body: { version: '1.1.5' } });
    rig.releases.put(path, { bytes: other });
    const refused = await ask();
    assert.deepEqual([refused.status, refused.body['code']], [422, 'version_not_signed']);
    assert.equal((await rig.stack.health())?.version, '1.2.0');
    await sign(path, other);
    assert.equal((await ask()).body['result'], 'updated');
    await assertRests({ rig, agent }, '1.1.5');
  });

  await t.test('the key that a signed manifest names signs the next release, and no other key does', async () => {
    const nextPublicKey = await makeKey('next');
    await makeKey('untrusted');
    const current = (await rig.release({ version: '1.2.0' })).manifest;
    const newer = (await rig.release({ version: '1.3.0' })).manifest;
    await publish(newer, [], 'next');
    assert.equal((await agent.call('POST', '/update')).body['code'], 'manifest_rejected');
    await publish({ ...current, nextPublicKey });
    await agent.call('POST', '/check');
    const learned = agent.events.find((line) => line.event === 'update_key_learned');
    assert.ok((await readFile(file('next.pub'), 'utf8')).includes(String(learned?.['keyId'])));
    await agent.stop();
    await agent.start();
    await agent.idle();
    await publish(newer, [], 'next');
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await assertRests({ rig, agent }, '1.3.0');
    // The station was off when the third key was named.
    const kept = encode({ ...newer, nextPublicKey: await makeKey('third') });
    const [, nextId] = /public key (\S+)/.exec(await readFile(file('next.pub'), 'utf8')) ?? [];
    const path = `/releases/keys/${nextId}.json`;
    rig.releases.put(path, { bytes: kept });
    await sign(path, kept, [], 'next');
    await publish(newer, [], 'third');
    assert.equal((await agent.call('POST', '/update')).body['result'], 'already_current');
    await publish({ ...newer, version: '1.4.0' }, [], 'untrusted');
    assert.equal((await agent.call('POST', '/update')).body['code'], 'manifest_rejected');
    assert.equal((await rig.stack.health())?.version, '1.3.0');
  });
});

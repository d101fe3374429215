import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { agentEnv, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { needPackages } from '../../rig/debian.ts';
import { run } from '../../rig/program.ts';
import { createRegistry } from '../../rig/registry.ts';
import { createReleaseServer, manifestPath } from '../../rig/release-server.ts';
import { pinnedByDigest, type PublishedRelease } from '../../rig/small-stack.ts';
import { assertRests, createStory, type Story } from '../update/story.ts';
import { createSigner, moveTag, type Signer } from './signer.ts';

// Somebody stands before the update server and the registry, or has taken them over, but has no key that signs.

describe('a hostile mirror', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let story: Story;
  let agent: AgentProcess;
  let signer: Signer;
  const manifests: Record<string, PublishedRelease['manifest'] & { nextPublicKey?: string }> = {};

  before(async () => {
    story = life.use(await createStory({ started: false }));
    const { rig } = story;
    signer = await createSigner(rig.workspace, rig.releases);
    agent = await createAgentProcess(
      rig.workspace,
      agentEnv(rig, { UPDATE_PUBLIC_KEY: await signer.makeKey('key') }),
      'signed',
    );
    await signer.makeKey('untrusted');
    for (const version of ['1.1.0', '1.2.0', '1.3.0', '1.4.0', '9.9.9']) {
      manifests[version] = (await rig.release({ version })).manifest;
    }
    rig.releases.setManifest(new Uint8Array());
    await agent.start();
    await agent.idle();
  });
  after(() => life.disposeAsync());

  const manifest = (version: string) => manifests[version] ?? assert.fail();
  const update = async (version?: string): Promise<string> => {
    const { status, body } = await agent.call('POST', '/update', version === undefined ? {} : { body: { version } });
    return `${status} ${String(body['code'] ?? body['result'])}`;
  };
  /** Nothing that runs has changed. */
  const expectUntouched = async (action: () => Promise<void>): Promise<void> => {
    const ids = async (): Promise<string[]> => (await story.rig.stack.containers()).map(({ id }) => id).sort();
    const before = await ids();
    await action();
    assert.deepEqual(await ids(), before);
  };

  it('serves a manifest that nobody, or another key, has signed: it is not followed', async () => {
    await expectUntouched(async () => {
      story.rig.releases.setManifest(manifest('9.9.9'));
      assert.equal(await update(), '502 manifest_unavailable', 'there is no signature');
      await signer.publish(manifest('9.9.9'), 'untrusted');
      assert.equal(await update(), '502 manifest_rejected');
      assert.match(await update('9.9.9'), /^(422 version_not_signed|502 manifest_rejected)$/);
    });
  });

  it('serves another image under a tag that it served before: the image seen first is installed again', async () => {
    const { rig } = story;
    await signer.publish(manifest('1.1.0'));
    assert.equal(await update(), '200 updated');
    const first = (await rig.stack.containers()).find(({ service }) => service === 'backend')?.imageId;
    await signer.publish(manifest('1.2.0'));
    assert.equal(await update(), '200 updated');
    for (const service of ['backend', 'frontend'] as const) {
      await moveTag(rig.registry, manifest('1.1.0').images[service], manifest('9.9.9').images[service]);
    }
    // Its copy is gone too, so it comes from the mirror again.
    for (const each of ['1.1.0', '9.9.9'] as const)
      await rig.engine.tryDocker(['rmi', '-f', manifest(each).images.backend]);
    assert.equal((await agent.call('POST', '/rollback')).body['result'], 'rolled_back');
    await assertRests({ rig, agent }, '1.1.0');
    const again = (await rig.stack.containers()).find(({ service }) => service === 'backend')?.imageId;
    assert.equal(again, first);
  });

  it('serves other bytes for a signed digest: they are refused, and what runs stays', async () => {
    const { rig } = story;
    const pinned = pinnedByDigest(await rig.stack.publish({ version: '1.2.1', ballast: [200_000] }));
    await signer.publish(pinned.manifest);
    const blobs = join(rig.workspace.folder, 'registry/data/docker/registry/v2/blobs/sha256');
    const layers = (await run('find', [blobs, '-name', 'data', '-size', '+150k', '-newermt', '-60 seconds'])).split(
      '\n',
    );
    assert.ok(layers[0]);
    for (const layer of layers) {
      const bytes = await readFile(layer);
      bytes.fill(0x41, Math.floor(bytes.length / 2));
      await writeFile(layer, bytes);
    }
    await expectUntouched(async () => assert.doesNotMatch(await update(), /^200/));
    await agent.idle();
    await assertRests({ rig, agent }, '1.1.0');
  });

  it('serves an old signed manifest: it is refused, also after a restart of the agent', async () => {
    await expectUntouched(async () => {
      signer.replay(manifest('1.1.0'));
      assert.equal(await update(), '502 manifest_rejected');
      await agent.stop();
      await agent.start();
      await agent.idle();
      assert.equal(await update(), '502 manifest_rejected');
    });
  });

  it('names a key of its own in a manifest: no release of that key is installed', async () => {
    const mine = await signer.makeKey('mine');
    await expectUntouched(async () => {
      await signer.publish({ ...manifest('1.3.0'), nextPublicKey: mine }, 'untrusted');
      assert.equal(await update(), '502 manifest_rejected');
      // The right signature of another text.
      const signed = { ...manifest('1.2.0') };
      await signer.publish(signed);
      await signer.publish({ ...signed, nextPublicKey: mine }, null);
      assert.equal(await update(), '502 manifest_rejected');
      await signer.publish(manifest('1.4.0'), 'mine');
      assert.equal(await update(), '502 manifest_rejected');
    });
    assert.ok(!agent.events.some(({ event }) => event === 'update_key_learned'));
  });

  it('replays manifests from before a rotation of the key: none brings an older release back', async () => {
    const nextPublicKey = await signer.makeKey('next');
    const rotating = { ...manifest('1.3.0'), nextPublicKey };
    await signer.publish(rotating);
    assert.equal(await update(), '200 updated');
    await agent.event('update_key_learned');
    await signer.publish(manifest('1.4.0'), 'next');
    assert.equal(await update(), '200 updated');
    await assertRests({ rig: story.rig, agent }, '1.4.0');
    await expectUntouched(async () => {
      for (const old of [rotating, manifest('1.2.0'), manifest('1.1.0')]) {
        signer.replay(old);
        assert.equal(await update(), '502 manifest_rejected');
      }
    });
  });

  it('leads from https to http: the agent does not follow', async () => {
    await needPackages(['openssl']);
    const { rig } = story;
    const keyFile = join(rig.workspace.folder, 'key.pem');
    const certificateFile = join(rig.workspace.folder, 'cert.pem');
    const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    await run('openssl', [...request, ...subject, '-keyout', keyFile, '-out', certificateFile]);
    const secure = await createReleaseServer(rig.workspace, { tls: { keyFile, certificateFile } });
    const plain = await createReleaseServer(rig.workspace);
    plain.setManifest(manifest('1.4.0'));
    // The authority of this server is one that the machine trusts.
    const trusting = { UPDATE_SERVER_URL: secure.manifestUrl, NODE_EXTRA_CA_CERTS: certificateFile };
    await agent.stop();
    const other = await createAgentProcess(rig.workspace, agentEnv(rig, trusting), 'secure');
    await other.start();
    await other.idle();
    const ask = async () => (await other.call('POST', '/update')).body;
    secure.setManifest(manifest('1.4.0'));
    assert.match(String((await ask())['result']), /^(updated|already_current)$/, 'it trusts the certificate');
    const location = `${plain.origin}${manifestPath}`;
    secure.put(manifestPath, { bytes: new Uint8Array(), status: 302, headers: { location } });
    assert.equal((await ask())['code'], 'manifest_rejected');
    assert.deepEqual(plain.requests, []);
  });

  it('is another registry in the place of the right one: it has no image with the signed digest', async () => {
    const { rig } = story;
    await agent.start();
    await agent.idle();
    const fake = await createRegistry(rig.workspace, { name: 'fake' });
    const pinned = pinnedByDigest(await rig.stack.publish({ version: '1.5.0' }));
    const replaced = (image: string): string => image.replace(rig.registry.address, fake.address);
    const images = {
      backend: replaced(pinned.manifest.images.backend),
      frontend: replaced(pinned.manifest.images.frontend),
    };
    await signer.publish({ ...pinned.manifest, images }, 'next');
    await expectUntouched(async () => assert.doesNotMatch(await update(), /^200/));
  });
});

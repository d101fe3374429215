import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { findBundledPackages, type Part, parts } from '../../scripts/release/bundled-packages.ts';
import { createImageBuilder } from '../../scripts/release/images.ts';
import { Refusal } from '../../scripts/release/options.ts';
import { createAgentProcess } from '../rig/agent-process.ts';
import { loadBaseImages } from '../rig/base-images.ts';
import { createDockerEngine } from '../rig/docker-engine.ts';
import { run, tryRun, waitFor } from '../rig/program.ts';
import { writeProject } from '../rig/real-stack.ts';
import { createRegistry, type Registry } from '../rig/registry.ts';
import { createTestReleases, type TestReleases } from '../rig/release.ts';
import { createReleaseServer, type ReleaseServer } from '../rig/release-server.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

// What `npm run release` publishes, made twice, and installed by an agent from a real registry.
let workspace: Workspace;
let registry: Registry;
let server: ReleaseServer;
let releases: TestReleases;
let site: string;

before(async () => {
  workspace = await createWorkspace();
  registry = await createRegistry(workspace);
  server = await createReleaseServer(workspace);
  releases = await createTestReleases(workspace, { registry, site: server.origin });
  await releases.make({ version: '1.0.0' });
  site = releases.folder;
});
after(() => workspace[Symbol.asyncDispose]());

const filesOf = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((file) => file.slice(folder.length + 1)).sort();
};
const hashOf = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

test('the site has the files that the installer and the agents read', async () => {
  assert.deepEqual(await filesOf(site), [
    'agent/1.0.0/SHA256SUMS',
    'agent/1.0.0/SHA256SUMS.minisig',
    'agent/1.0.0/station-agent-linux-arm64.xz',
    'agent/1.0.0/station-agent-linux-x64.xz',
    'cloud-init/user-data',
    'deploy/1.0.0/SHA256SUMS',
    'deploy/1.0.0/SHA256SUMS.minisig',
    'deploy/1.0.0/station-deploy.tar.gz',
    'firmware/manifest.json',
    'firmware/manifest.json.minisig',
    'install.sh',
    'manifest.json',
    'manifest.json.minisig',
    'notes/1.0.0.md',
    'releases/1.0.0.json',
    'releases/1.0.0.json.minisig',
    'reset.sh',
    'sbom/1.0.0.cdx.json',
    'sbom/1.0.0.licenses.txt',
  ]);
});

test('the same release made again is the same, byte for byte', async () => {
  const again = await createTestReleases(workspace, { registry, site: server.origin, name: 'again', like: releases });
  await again.make({ version: '1.0.0' });
  for (const name of await filesOf(site)) {
    assert.equal(await hashOf(join(again.folder, name)), await hashOf(join(site, name)), name);
  }
});

test('the installer and the reset are filled in, and a shell can read them', async () => {
  for (const name of ['install.sh', 'reset.sh']) {
    const text = await readFile(join(site, name), 'utf8');
    assert.deepEqual(text.match(/'@[A-Z_]+@'/g), null, name);
    await run('sh', ['-n', join(site, name)]);
  }
  const install = await readFile(join(site, 'install.sh'), 'utf8');
  for (const value of [server.origin, '1.0.0', releases.images, `${server.origin}/manifest.json`]) {
    assert.ok(install.includes(`'${value}'`), value);
  }
});

test('every signature is of the key in the installer, and every checksum is true', async () => {
  const key = /='(RW[A-Za-z0-9+/]{54})'/.exec(await readFile(join(site, 'install.sh'), 'utf8'))?.[1] ?? '';
  const names = await filesOf(site);
  for (const name of names.filter((each) => each.endsWith('.minisig'))) {
    await run('minisign', ['-V', '-q', '-P', key, '-m', join(site, name.slice(0, -'.minisig'.length))]);
  }
  for (const name of names.filter((each) => basename(each) === 'SHA256SUMS')) {
    const folder = join(site, dirname(name));
    for (const file of (await readdir(folder)).filter((each) => each.endsWith('.xz'))) {
      await run('xz', ['--decompress', '--keep', join(folder, file)]);
    }
    await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder });
  }
});

test('the files of the stack are in the archive, readable by everybody', async () => {
  const archive = join(site, 'deploy/1.0.0/station-deploy.tar.gz');
  const lines = (await run('tar', ['-tvzf', archive, '--numeric-owner'])).split('\n');
  const files = lines.filter((line) => !line.startsWith('d')).map((line) => line.split(/\s+/));
  assert.deepEqual(
    files.map((fields) => fields.at(-1)),
    [
      'docker-compose.yml',
      'mosquitto/mosquitto.conf',
      'mosquitto/start.sh',
      'proxy/Caddyfile',
      'reset.sh',
      'station-agent.service',
      'station-bluez.service',
    ],
  );
  for (const [mode = '', owner] of files) assert.ok(mode[7] === 'r' && owner === '0/0', mode);
});

test('the compose file names every image by digest, and the registries have them', async () => {
  const archive = join(site, 'deploy/1.0.0/station-deploy.tar.gz');
  const text = await run('tar', ['-xzOf', archive, 'docker-compose.yml']);
  const { services } = parse(text) as { services: Record<string, { image: string }> };
  const proxy = /^\$\{STATION_IMAGES\}\/proxy:\$\{PROXY_VERSION:-2@(sha256:[0-9a-f]{64})\}$/.exec(
    services['proxy']!.image,
  );
  assert.ok(proxy, services['proxy']!.image);
  const accept = 'application/vnd.oci.image.index.v1+json';
  const answer = await registry.request(`/v2/station/proxy/manifests/2`, { headers: { accept } });
  assert.equal(answer.headers.get('docker-content-digest'), proxy[1]);
  for (const [name, image] of Object.entries({ mqtt: 'eclipse-mosquitto:2', postgres: 'postgres:17' })) {
    const digest = /@(sha256:[0-9a-f]{64})\}$/.exec(services[name]!.image)?.[1] ?? '';
    assert.ok(services[name]!.image.endsWith(`:-${image}@${digest}}`), services[name]!.image);
    const [repository] = image.split(':');
    const known = ['--registries-conf', join(workspace.folder, 'registries.conf')];
    const raw = await run('skopeo', [
      ...known,
      'inspect',
      '--raw',
      `docker://docker.io/library/${repository}@${digest}`,
    ]);
    assert.equal(`sha256:${createHash('sha256').update(raw).digest('hex')}`, digest);
  }
});

test('a release without a registry that resolves its tags is refused', async () => {
  const conf = join(workspace.folder, 'offline.conf');
  await writeFile(
    conf,
    '[[registry]]\nprefix = "docker.io/library"\nlocation = "127.0.0.1:1/library"\ninsecure = true\n',
  );
  await using builder = await createImageBuilder(['x64'], conf);
  await assert.rejects(builder.resolve('postgres:17'), Refusal);
  await assert.rejects(
    builder.build('proxy', '1.0.0', await workspace.subfolder('offline')),
    /caddy:2 .*cannot be pinned/s,
  );
});

type Index = { manifests: { digest: string; platform: { architecture: string } }[] };

test('the registry has the images of the manifest for both architectures', async () => {
  const manifest = JSON.parse(await readFile(join(site, 'manifest.json'), 'utf8')) as {
    images: Record<string, string>;
  };
  assert.deepEqual(Object.keys(manifest.images), ['backend', 'frontend']);
  for (const reference of [...Object.values(manifest.images), `${releases.images}/proxy:2`]) {
    const [, path = '', tag = '', digest] = /^[^/]+\/(.+?):([^:@]+)(?:@(.+))?$/.exec(reference) ?? [];
    const accept = 'application/vnd.oci.image.index.v1+json';
    const answer = await registry.request(`/v2/${path}/manifests/${digest ?? tag}`, { headers: { accept } });
    const index = (await answer.json()) as Index;
    assert.deepEqual(index.manifests.map(({ platform }) => platform.architecture).sort(), ['amd64', 'arm64'], path);
    for (const image of index.manifests) assert.ok(await hasBlobs(path, image.digest), `${path} ${image.digest}`);
  }
});

async function hasBlobs(path: string, digest: string): Promise<boolean> {
  const accept = 'application/vnd.oci.image.manifest.v1+json';
  const answer = await registry.request(`/v2/${path}/manifests/${digest}`, { headers: { accept } });
  const { config, layers } = (await answer.json()) as { config: { digest: string }; layers: { digest: string }[] };
  const heads = [config, ...layers].map((blob) =>
    registry.request(`/v2/${path}/blobs/${blob.digest}`, { method: 'HEAD' }),
  );
  return (await Promise.all(heads)).every(({ ok }) => ok);
}

test('the executable in the image of the other architecture is of that architecture', async () => {
  const { stdout } = await tryRun('skopeo', [
    '--override-arch',
    'arm64',
    'inspect',
    '--config',
    '--tls-verify=false',
    `docker://${releases.images}/backend:1.0.0`,
  ]);
  const config = JSON.parse(stdout) as { architecture: string; config: { Labels: Record<string, string> } };
  assert.equal(config.architecture, 'arm64');
  assert.equal(config.config.Labels['org.opencontainers.image.version'], '1.0.0');
});

test('the bill of materials names every bundled package and Node', async () => {
  const text = await readFile(join(site, 'sbom/1.0.0.cdx.json'), 'utf8');
  const { bomFormat, components } = JSON.parse(text) as {
    bomFormat: string;
    components: { name: string; version: string; type: string; 'bom-ref': string }[];
  };
  assert.equal(bomFormat, 'CycloneDX');
  const named = new Set(components.map(({ name, version }) => `${name} ${version}`));
  const packages = await findBundledPackages(parts);
  const isIn = (part: Part, package_: string): boolean =>
    packages.some((each) => each.name === package_ && each.parts.includes(part));
  assert.ok(isIn('web', 'react') && isIn('backend', 'fastify') && isIn('ble-helper', '@jellybrick/dbus-next'));
  for (const { name, version } of packages) assert.ok(named.has(`${name} ${version}`), name);
  assert.ok(named.has(`node ${process.versions.node}`));
  assert.deepEqual(
    components
      .filter(({ type }) => type === 'container')
      .map(({ name }) => name)
      .sort(),
    ['caddy', 'caddy', 'eclipse-mosquitto', 'node', 'node', 'postgres'],
  );
  assert.equal(new Set(components.map((one) => one['bom-ref'])).size, components.length);
});

/** Serves the site, without the agent's files: the agent does not read them. */
async function publish(): Promise<void> {
  for (const name of await filesOf(site)) {
    if (!name.endsWith('.xz')) server.put(`/${name}`, { bytes: await readFile(join(site, name)) });
  }
}

test('an agent installs a release of several architectures, and rolls back one with an unhealthy backend', async () => {
  const engine = await createDockerEngine(workspace);
  await loadBaseImages(engine, ['eclipse-mosquitto:2']);
  const stack = await writeProject(workspace, releases.images, ['1.0.0']);
  await engine.compose(stack.folder, 'up', '-d', '--quiet-pull');
  const versionOf = async (): Promise<unknown> =>
    ((await (await fetch(stack.healthUrl)).json()) as { version: string }).version;
  await waitFor('the stack', async () => (await versionOf()) === '1.0.0');
  const agent = await createAgentProcess(workspace, {
    ...engine.env,
    STATION_ID: stack.stationId,
    UPDATE_SERVER_URL: `${server.origin}/manifest.json`,
    UPDATE_PUBLIC_KEY: releases.publicKey,
    COMPOSE_PROJECT_PATH: stack.folder,
    HEALTHCHECK_URL: stack.healthUrl,
    AUTO_UPDATE: 'false',
    STABILIZATION_SECONDS: '1',
    HEALTHCHECK_TIMEOUT_SECONDS: '60',
    PORT: '0',
  });
  await agent.start();
  await agent.idle();
  await releases.make({ version: '1.1.0' });
  await publish();
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
  assert.equal(await versionOf(), '1.1.0');
  await releases.make({ version: '1.2.0', backend: 'unhealthy' });
  await publish();
  assert.equal((await agent.call('POST', '/update')).body['code'], 'update_rolled_back');
  assert.equal(await versionOf(), '1.1.0');
  await agent.stop();
});

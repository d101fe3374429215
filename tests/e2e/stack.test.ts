import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { holdMs } from '@station/simulators/station/holding-agent';
import { stringify } from 'yaml';
import { needPackages } from '../rig/debian.ts';
import { createDockerEngine, type DockerEngine } from '../rig/docker-engine.ts';
import { tryRun, waitFor } from '../rig/program.ts';
import { createRealStack, type RealStack } from '../rig/real-stack.ts';
import { createRegistry, type Registry } from '../rig/registry.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

// The stack of deploy/, with images as a release makes them, pulled from a registry and started as an operator does it.
let workspace: Workspace;
let engine: DockerEngine;
let registry: Registry;
let stack: RealStack;

before(async () => {
  workspace = await createWorkspace();
  engine = await createDockerEngine(workspace);
  registry = await createRegistry(workspace);
  stack = await createRealStack(workspace, { engine, registry, versions: ['1.0.0', '1.1.0'] });
  await engine.compose(stack.folder, 'up', '-d');
});
after(() => workspace[Symbol.asyncDispose]());

const healthVersion = async (): Promise<string | null> => {
  const response = await fetch(stack.healthUrl, { signal: AbortSignal.timeout(5000) });
  const body = (await response.json()) as { version: string };
  return response.status === 200 ? body.version : null;
};
const containerNames = ['station-backend', 'station-frontend', 'station-proxy', 'station-mqtt'];
const inspect = async (name: string, format: string): Promise<string> =>
  engine.docker('inspect', '--format', format, name);

type Inspected = {
  State: { Pid: number };
  HostConfig: { ReadonlyRootfs: boolean; Memory: number; LogConfig: { Config: Record<string, string> } };
};

test('the stack is healthy through its proxy', async () => {
  assert.equal(await waitFor('the backend', healthVersion), '1.0.0');
});

test('no service is root, can gain a capability or write to its root file system', async () => {
  for (const name of containerNames) {
    const { State, HostConfig } = JSON.parse(await inspect(name, '{{json .}}')) as Inspected;
    const status = await readFile(`/proc/${State.Pid}/status`, 'utf8');
    const value = (key: string): string => new RegExp(`^${key}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? '';
    assert.ok(Number(value('Uid')) > 0, `${name} runs as root`);
    assert.match(value('CapBnd'), /^0+$/, `${name} has capabilities`);
    assert.equal(value('NoNewPrivs'), '1', name);
    assert.equal(HostConfig.ReadonlyRootfs, true, name);
    assert.ok(HostConfig.Memory > 0, `${name} has no memory limit`);
    assert.equal(HostConfig.LogConfig.Config['max-size'], '5m', name);
  }
});

test('pages are served, and deep links lead to the app', async () => {
  const page = await fetch(stack.url);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'self'/);
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const html = await page.text();
  const deep = await fetch(`${stack.url}/devices/17`);
  assert.equal(await deep.text(), html);
  const script = /(?:src|href)="(\/assets\/[^"]+)"/.exec(html)?.[1];
  assert.ok(script, 'the page loads nothing from /assets');
  const asset = await fetch(stack.url + script);
  assert.equal(asset.status, 200);
  assert.match(asset.headers.get('cache-control') ?? '', /immutable/);
  const missing = await fetch(`${stack.url}/assets/missing.js`);
  assert.deepEqual([missing.status, missing.headers.get('cache-control')], [404, null]);
});

test('serves only complete firmware files of the cache, with ranges and long caching', async () => {
  const bytes = Buffer.from('0123456789'.repeat(100));
  await writeFile(join(stack.firmwareFolder, 'plug@1.2.3.bin'), bytes);
  await writeFile(join(stack.firmwareFolder, 'plug@1.3.0.bin.part'), bytes);
  await writeFile(join(stack.firmwareFolder, 'plug.json'), '{}');
  const whole = await fetch(`${stack.url}/firmware/plug@1.2.3.bin`);
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), bytes);
  assert.match(whole.headers.get('cache-control') ?? '', /immutable/);
  const etag = whole.headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  const part = await fetch(`${stack.url}/firmware/plug@1.2.3.bin`, {
    headers: { range: 'bytes=10-19', 'if-range': etag },
  });
  assert.equal(part.status, 206);
  assert.equal(await part.text(), '0123456789');
  for (const path of ['plug.json', 'plug@1.3.0.bin.part', '', 'plug@1.2.4.bin']) {
    const { status, headers } = await getExactly(`/firmware/${path}`);
    assert.deepEqual([status, headers['cache-control']], [404, undefined], path);
  }
  await writeFile(join(stack.firmwareFolder, '../outside@1.0.0.bin'), 'not for anybody');
  for (const path of [
    '../outside@1.0.0.bin',
    '..%2foutside@1.0.0.bin',
    '%2e%2e/outside@1.0.0.bin',
    '..%5coutside@1.0.0.bin',
  ]) {
    assert.ok(!(await getExactly(`/firmware/${path}`)).body.includes('not for anybody'), path);
  }
});

/** A GET with the path exactly as written; `fetch` would resolve its dots. */
async function getExactly(
  path: string,
): Promise<Pick<IncomingMessage, 'headers'> & { status: number | undefined; body: string }> {
  const { hostname, port } = new URL(stack.url);
  const sent = httpRequest({ hostname, port, path });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

test('the broker requires a password', async () => {
  await needPackages(['mosquitto-clients']);
  const subscribe = async (login: string): Promise<number | null> => {
    // Options from a file, because a password must not be in a process's arguments.
    const folder = await workspace.subfolder('mosquitto-client');
    await writeFile(join(folder, 'mosquitto_sub'), `-h 127.0.0.1\n-p ${stack.mqttPort}\n${login}`, { mode: 0o600 });
    const args = ['-t', '$SYS/broker/version', '-C', '1', '-W', '60'];
    return (await tryRun('mosquitto_sub', args, { env: { XDG_CONFIG_HOME: folder } })).exitCode;
  };
  assert.equal(await subscribe(`-u backend\n-P ${stack.mqttPassword}\n`), 0);
  assert.notEqual(await subscribe('-u backend\n-P wrong\n'), 0);
  assert.notEqual(await subscribe(''), 0);
});

test('what answers without a log-in reaches the backend, and not the broker', async () => {
  const ask = (container: string, url: string) =>
    engine.tryDocker(['exec', container, 'wget', '-q', '-O', '/dev/null', url]);
  const reachesBackendOnly = async (container: string): Promise<void> => {
    const backend = await ask(container, 'http://backend:3000/api/health');
    assert.equal(backend.exitCode, 0, `${container}: ${backend.stderr}`);
    const broker = await ask(container, 'http://mqtt:1883/');
    assert.match(broker.stderr, /bad address/, container);
  };
  // A name that nobody knows is looked up for 10 s.
  await Promise.all(['station-proxy', 'station-frontend'].map(reachesBackendOnly));
});

test("every container's own health check passes", async () => {
  for (const name of containerNames) {
    const isHealthy = async () => (await inspect(name, '{{.State.Health.Status}}')) === 'healthy';
    await waitFor(`${name} to be healthy`, isHealthy, 300_000);
  }
});

test('the proxy serves the update under way from the agent itself, and sees nothing else of it', async () => {
  const folder = join(stack.agentSocketFolder, 'public');
  await writeFile(join(stack.agentSocketFolder, 'secret'), 'beside the socket');
  await writeFile(join(folder, 'operation.json'), '{"operation":null}\n');
  const answer = await fetch(`${stack.url}/operation.json`);
  assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store']);
  assert.deepEqual(await answer.json(), { operation: null });
  assert.equal(await engine.docker('exec', 'station-proxy', 'ls', '/run/agent'), 'operation.json');
});

test('requests wait and succeed while backend and frontend are replaced', async () => {
  const [, next] = stack.releases;
  assert.ok(next);
  const override = {
    services: Object.fromEntries(Object.entries(next.images).map(([name, image]) => [name, { image }])),
  };
  await writeFile(join(stack.folder, 'docker-compose.override.yml'), stringify(override));
  await engine.compose(stack.folder, 'pull', 'backend', 'frontend');
  const failures: string[] = [];
  let count = 0;
  const traffic = new AbortController();
  const client = async (path: string): Promise<void> => {
    while (!traffic.signal.aborted) {
      const asked = performance.now();
      const outcome = await fetch(stack.url + path).then(
        async (response) => (await response.arrayBuffer(), response.status),
        String,
      );
      count += 1;
      // The proxy holds requests for so long. A service that starts slower than that is the machine's doing.
      const isHeld = performance.now() - asked >= holdMs;
      if (outcome !== 200 && !isHeld) failures.push(`${path}: ${outcome}`);
    }
  };
  // GET only: a POST that reached a stopping service is not repeated, or a command could run twice.
  const clients = ['/api/health', '/api/health', '/', '/'].map(client);
  await engine.compose(stack.folder, 'up', '-d');
  await waitFor('the new backend', async () => (await healthVersion()) === '1.1.0');
  await waitFor('50 requests', () => count > 50);
  traffic.abort();
  await Promise.all(clients);
  assert.deepEqual(failures, []);
});

async function manifestOf<T>(service: string, at: string): Promise<T> {
  const accept = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json';
  const answer = await registry.request(`/v2/station/${service}/manifests/${at}`, { headers: { accept } });
  return (await answer.json()) as T;
}

test('two releases share all layers but those with the application', async () => {
  const layersOf = async (service: 'backend' | 'frontend', version: string): Promise<string[]> => {
    const index = await manifestOf<{ manifests: { digest: string }[] }>(service, version);
    const manifest = await manifestOf<{ layers: { digest: string }[] }>(service, index.manifests[0]?.digest ?? '');
    return manifest.layers.map((layer) => layer.digest);
  };
  for (const service of ['backend', 'frontend'] as const) {
    const old = await layersOf(service, '1.0.0');
    const fresh = await layersOf(service, '1.1.0');
    assert.ok(fresh.filter((digest) => !old.includes(digest)).length <= 1, service);
  }
});

test('every service stops on SIGTERM', async () => {
  // Exit code 0; a service that had to be killed has 137.
  await engine.docker('stop', '--time', '60', ...containerNames);
  for (const name of containerNames) assert.equal(await inspect(name, '{{.State.ExitCode}}'), '0', name);
});

test('the logs contain no secret', async () => {
  const { stdout, stderr } = await engine.tryCompose(stack.folder, ['logs', '--no-color']);
  assert.match(stdout, /station-backend/);
  assert.ok(!(stdout + stderr).includes(stack.mqttPassword));
});

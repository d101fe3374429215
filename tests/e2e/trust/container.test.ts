import assert from 'node:assert/strict';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { agentEnv, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { waitFor } from '../../rig/program.ts';
import { createRealStack, type RealStack } from '../../rig/real-stack.ts';
import { createSmallRig, type SmallRig } from '../../rig/small-rig.ts';
import { createSigner, digestOf, moveTag, type Signer } from './signer.ts';

// Somebody runs programs of their own in the container of the backend, which has the agent's socket and its token.

const token = 'token-of-the-agent-for-this-test';

/** What a program in the container prints; it has Node and nothing else. */
type InContainer = (program: string) => Promise<string>;

describe('a hijacked container of the backend', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let rig: SmallRig;
  let stack: RealStack;
  let agent: AgentProcess;
  let signer: Signer;
  let inContainer: InContainer;

  before(async () => {
    rig = life.use(await createSmallRig());
    const { engine, registry, workspace } = rig;
    signer = await createSigner(rig.workspace, rig.releases);
    const key = await signer.makeKey('key');
    stack = await createRealStack(workspace, { engine, registry, versions: ['1.0.0', '1.1.0', '1.2.0'] });
    await appendFile(join(stack.folder, '.env'), `AGENT_TOKEN=${token}\nAGENT_SOCKET_GROUP=0\n`);
    await engine.compose(stack.folder, 'up', '-d');
    const env = {
      COMPOSE_PROJECT_PATH: stack.folder,
      HEALTHCHECK_URL: stack.healthUrl,
      AGENT_SOCKET: join(stack.agentSocketFolder, 'agent.sock'),
      TLS_DIR: stack.tlsFolder,
      AGENT_TOKEN: token,
      UPDATE_PUBLIC_KEY: key,
      HEALTHCHECK_TIMEOUT_SECONDS: '60',
    };
    await signer.publish(stack.releases[0] ?? {});
    agent = await createAgentProcess(workspace, agentEnv(rig, env));
    await agent.start();
    await agent.idle();
    inContainer = async (program) => {
      const args = ['exec', '--interactive', 'station-backend', 'node', '--input-type=module'];
      const { stdout, stderr, exitCode } = await engine.tryDocker(args, { input: program });
      assert.equal(exitCode, 0, stderr);
      return stdout.trim();
    };
    await waitFor('the backend', async () => (await fetch(stack.healthUrl)).ok);
    // The others start after it.
    await waitFor('every service', async () => Object.keys(await containers()).length === 4);
  });
  after(() => life.disposeAsync());

  type Call = readonly [method: string, path: string, body?: unknown];
  /** Calls of the agent from inside, by its socket, one after the other. @returns status and code of each. */
  const callAgent = async (calls: readonly Call[], bearer = token): Promise<string[]> => {
    const answers = await inContainer(`
      import { request } from 'node:http';
      import { text } from 'node:stream/consumers';
      for (const [method, path, body] of ${JSON.stringify(calls)}) {
        const headers = { authorization: 'Bearer ${bearer}', ...(body && { 'content-type': 'application/json' }) };
        const call = request({ socketPath: process.env.AGENT_SOCKET, method, path, headers });
        call.end(body && JSON.stringify(body));
        const answer = await new Promise((resolve) => call.on('response', resolve));
        const read = JSON.parse(await text(answer));
        console.log(answer.statusCode, read.code ?? read.result ?? '');
      }`);
    return answers.split('\n');
  };
  const containers = async (...which: string[]): Promise<Record<string, string>> => {
    const listed = await rig.engine.docker('ps', ...which, '--no-trunc', '--format', '{{.Names}} {{.ID}}');
    return Object.fromEntries(listed.split('\n').map((line) => line.split(' ')));
  };
  /** Also those that are down for a moment: the broker is restarted when it gets its certificate. A new image means a new container. */
  const allContainers = () => containers('--all');

  it('reaches no engine, no file of the machine and no folder that it could write to, but its data', async () => {
    const secret = join(rig.workspace.folder, 'secret-of-the-machine');
    await writeFile(secret, 'a secret of the machine');
    const found = await inContainer(`
      import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
      const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\\n').filter(Boolean).map((line) => line.split(' '));
      const writable = [...mounts.map(([, at]) => at), '/etc', '/usr', '/app', '/run/station-agent'].filter((at) => {
        try { writeFileSync(at + '/probe', ''); return true; } catch { return false; }
      });
      const sockets = ['/var/run', '/run', '/run/station-agent', '/run/station-bluez', '/tmp']
        .flatMap((folder) => (existsSync(folder) ? readdirSync(folder).map((name) => folder + '/' + name) : []))
        .filter((path) => { try { return statSync(path).isSocket(); } catch { return false; } });
      const blockDevices = readdirSync('/dev').filter((name) => statSync('/dev/' + name).isBlockDevice());
      console.log(JSON.stringify({
        writable: [...new Set(writable)].sort(), sockets, blockDevices, uid: process.getuid(),
        secret: existsSync(${JSON.stringify(secret)}), docker: existsSync('/var/run/docker.sock'),
        processes: readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length < 20,
      }));`);
    assert.deepEqual(JSON.parse(found), {
      writable: ['/data', '/dev/mqueue', '/dev/shm', '/tmp'],
      sockets: ['/run/station-agent/agent.sock'],
      blockDevices: [],
      uid: 10_002,
      secret: false,
      docker: false,
      processes: true,
    });
  });

  it('asks the agent without the token, or with another one: it changes nothing and reads no secret', async () => {
    const calls: Call[] = [
      ['POST', '/update', {}],
      ['POST', '/rollback', {}],
      ['POST', '/check', {}],
      ['POST', '/auto-update', { autoUpdate: true }],
      ['POST', '/clock', { now: '2030-01-01T00:00:00.000Z' }],
      ['POST', '/backup/restore', {}],
      ['POST', '/services/restart', { service: 'backend' }],
      ['POST', '/machine/restart', {}],
      ['POST', '/network/scan', {}],
      ['POST', '/network/join', { ssid: 'neighbour', password: 'password' }],
      ['GET', '/logs'],
      ['GET', '/backup'],
    ];
    for (const bearer of ['', `${token}x`, token.slice(0, -1)]) {
      assert.deepEqual(
        await callAgent(calls, bearer),
        calls.map(() => '401 unauthorized'),
      );
    }
  });

  it('asks for a version that no signed manifest names, in every way there is: nothing is installed', async () => {
    const before = await allContainers();
    const update = (version: unknown, more = {}): Call => ['POST', '/update', { version, ...more }];
    const unsigned = '422 version_not_signed';
    assert.deepEqual(await callAgent([update('1.1.0'), update('9.9.9')]), [unsigned, unsigned]);
    const images = stack.releases[1]?.images;
    const odd = ['1.1.0@sha256:0', '../1.1.0', '1.1.0/../../x', 'latest', '', null, 7].map((version) =>
      update(version),
    );
    const refused = await callAgent([...odd, update('1.1.0', { images })]);
    assert.deepEqual([...new Set(refused)].sort(), ['400 validation_failed', '400 version_invalid']);
    const restored = { wifi: null, broker: null, release: { version: '1.1.0', images }, missing: [] };
    assert.match((await callAgent([['POST', '/backup/restore', restored]]))[0] ?? '', /^200/);
    await agent.idle();
    assert.deepEqual(await allContainers(), before);
    assert.equal((await agent.status()).currentVersion, '1.0.0');
  });

  it('asks for a path that the agent does not have: none leads to commands, files or containers', async () => {
    const paths = [
      '/exec',
      '/containers/json',
      '/v1.41/containers/json',
      '/reboot',
      '/config',
      '/..%2f..%2fetc/passwd',
    ];
    const answers = await callAgent(paths.map((path) => ['GET', path]));
    assert.deepEqual([...new Set(answers)], ['404 not_found']);
  });

  it('asks for what a signed manifest names: it is installed with the signed digests, whatever the tag has become', async () => {
    const next = stack.releases[1] ?? assert.fail();
    const other = stack.releases[2] ?? assert.fail();
    const digests = {
      backend: await digestOf(rig.registry, next.images.backend),
      frontend: await digestOf(rig.registry, next.images.frontend),
    };
    await signer.publish({ version: next.version, images: digests });
    // The registry names another image by the same tags.
    for (const service of ['backend', 'frontend'] as const) {
      await moveTag(rig.registry, next.images[service], other.images[service]);
    }
    const [answer] = await callAgent([['POST', '/update?wait=false', { version: '1.1.0' }]]);
    assert.match(answer ?? '', /^202/);
    await agent.event('update_completed', { timeoutMs: 120_000 });
    await agent.idle();
    const override = (await agent.readState('compose.update.override.yml')) ?? '';
    for (const service of ['backend', 'frontend'] as const) {
      const wanted = await rig.engine.docker('image', 'inspect', '--format', '{{.Id}}', digests[service]);
      const running = await rig.engine.docker('inspect', '--format', '{{.Image}}', `station-${service}`);
      assert.equal(running, wanted, service);
      assert.ok(override.includes(wanted));
    }
    const health = (await (await fetch(stack.healthUrl)).json()) as { version: string };
    assert.equal(health.version, '1.1.0');
  });

  it('finds no secret of the machine in what the agent says of itself', async () => {
    const files = (await readdir(stack.tlsFolder, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
    const lines = texts.flatMap((text) =>
      [...text.matchAll(/PRIVATE KEY-----\n([^-]+)/g)].flatMap(([, key = '']) => key.trim().split('\n')),
    );
    assert.ok(lines.length > 0);
    const answer = await inContainer(`
      import { request } from 'node:http';
      import { text } from 'node:stream/consumers';
      for (const path of ['/status', '/doctor', '/log', '/metrics', '/version'])
        request({ socketPath: process.env.AGENT_SOCKET, path }, async (answer) => console.log(await text(answer))).end();`);
    assert.ok(answer.length > 1_000);
    for (const secret of [token, stack.mqttPassword, ...lines]) {
      assert.ok(!answer.includes(secret));
    }
  });
});

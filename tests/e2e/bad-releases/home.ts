import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { type Fleet, startFleet } from '@station/simulators/devices/fleet';
import { agentEnv, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { pushVariant, type Variant } from '../../rig/image-variant.ts';
import { waitFor } from '../../rig/program.ts';
import { createRealStack, type RealStack } from '../../rig/real-stack.ts';
import { createSmallRig, type SmallRig } from '../../rig/small-rig.ts';

/** A home: the real stack with an owner and devices, and an agent that has adopted it. */
export type Home = AsyncDisposable & {
  rig: SmallRig;
  stack: RealStack;
  agent: AgentProcess;
  fleet: Fleet;
  /** Publishes a release that differs from the installed one, and offers it. @returns its version. */
  offer(changes: { backend?: Variant; frontend?: Variant }): Promise<string>;
};

export type HomeOptions = { devices?: number; env?: Record<string, string> };

const token = 'token-of-the-agent-of-this-home';
const first = '1.0.0';
const owner = { email: 'owner@home.example', password: 'a password of the owner' };

export async function createHome({ devices = 5, env = {} }: HomeOptions = {}): Promise<Home> {
  await using life = new AsyncDisposableStack();
  const rig = life.use(await createSmallRig());
  const { engine, registry, workspace } = rig;
  const stack = await createRealStack(workspace, { engine, registry, versions: [first] });
  const logins = makeLogins(devices);
  const devicesFile = join(stack.folder, 'devices.json');
  await writeFile(devicesFile, JSON.stringify({ devices: logins.map(({ profile: _, ...login }) => login) }));
  const code = 'CODEOFHOME';
  const more = { AGENT_TOKEN: token, AGENT_SOCKET_GROUP: '0', DEVICES_FILE: devicesFile, STATION_CODE: code };
  await appendFile(join(stack.folder, '.env'), linesOf(more));
  await engine.compose(stack.folder, 'up', '-d');
  await waitFor('a healthy stack', async () => (await fetch(stack.healthUrl)).ok);
  await setUp(stack, code);
  const fleet = life.use(
    startFleet({ url: `mqtt://127.0.0.1:${stack.mqttPort}`, stationId: stack.stationId, logins, heartbeatMs: 1000 }),
  );
  await waitFor('the devices', () => fleet.acceptedCount() === devices);
  const agent = await createAgentProcess(
    workspace,
    agentEnv(rig, {
      STATION_ID: stack.stationId,
      COMPOSE_PROJECT_PATH: stack.folder,
      HEALTHCHECK_URL: stack.healthUrl,
      AGENT_SOCKET: join(stack.agentSocketFolder, 'agent.sock'),
      TLS_DIR: stack.tlsFolder,
      HTTPS: 'off',
      BACKEND_AGENT_TOKEN: token,
      STABILIZATION_SECONDS: '2',
      HEALTHCHECK_TIMEOUT_SECONDS: '10',
      DEVICES_BACK_SECONDS: '15',
      PROBATION_MINUTES: '0',
      ...env,
    }),
  );
  await agent.start();
  await agent.idle();
  await waitFor('the stack to be adopted', async () => (await agent.status()).currentVersion);
  let minor = 0;
  const offer: Home['offer'] = async (changes) => {
    const version = `1.${(minor += 1)}.0`;
    const images: Record<string, string> = {};
    for (const service of ['backend', 'frontend'] as const) {
      const variant = changes[service];
      const tag = variant === undefined ? first : version;
      const target = { repository: `station/${service}`, from: first, tag };
      if (variant !== undefined) await pushVariant(registry, target, variant);
      images[service] = `${registry.address}/station/${service}:${tag}`;
    }
    rig.releases.setManifest({ version, images });
    return version;
  };
  const owned = life.move();
  return { rig, stack, agent, fleet, offer, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const linesOf = (variables: Record<string, string>): string =>
  Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

async function setUp({ url }: RealStack, code: string): Promise<void> {
  const body = JSON.stringify({ code, name: 'Owner', stationName: 'Home', timeZone: 'Europe/Berlin', ...owner });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/api/auth/setup`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`the set-up answers ${answer.status}: ${await answer.text()}`);
}

import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { type Fleet, startFleet } from '@station/simulators/devices/fleet';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { waitFor } from '../../rig/program.ts';
import { createRealStack, type RealStack } from '../../rig/real-stack.ts';
import { createSmallRig, type SmallRig } from '../../rig/small-rig.ts';
import { createOffers, firstVersion, type Station } from './offered.ts';

/** A home: the real stack with an owner and devices, and an agent that has adopted it. */
export type Home = AsyncDisposable &
  Station & {
    rig: SmallRig;
    stack: RealStack;
    fleet: Fleet;
    /** Ids of the devices that the backend has heard of and that are online. */
    heard(): Promise<string[]>;
  };

export type HomeOptions = { devices?: number; env?: Record<string, string> };

const token = 'token-of-the-agent-of-this-home';
const owner = { email: 'owner@home.example', password: 'a password of the owner' };

export async function createHome({ devices = 5, env = {} }: HomeOptions = {}): Promise<Home> {
  await using life = new AsyncDisposableStack();
  const rig = life.use(await createSmallRig());
  const { engine, registry, workspace } = rig;
  const stack = await createRealStack(workspace, { engine, registry, versions: [firstVersion] });
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
  const heard = async (): Promise<string[]> => {
    const answer = await fetch(`${stack.url}/api/agent/devices`, { headers: { authorization: `Bearer ${token}` } });
    return ((await answer.json()) as { heard: string[] }).heard;
  };
  const owned = life.move();
  return {
    rig,
    stack,
    agent,
    fleet,
    offer: createOffers(rig),
    heard,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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

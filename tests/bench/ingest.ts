/**
 * `npm run bench -- ingest [--rounds 5] [--messages 60000] [--without-node-red]`
 *
 * Measures how many device states per second one core stores on disk (QoS 1, acknowledged after the commit), through
 * the embedded broker and through Mosquitto. Each is compared with the same broker passing the same load to a client
 * that only counts, and with Node-RED (MQTT to SQLite). All take turns, several times, and the medians are compared.
 * See docs/benchmarks.md.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { latestState } from '../rig/latest-state.ts';
import { createMosquitto, type Mosquitto } from '../rig/mosquitto.ts';
import { run } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import type { CountRequest } from './load/counting-client.ts';
import type { LoadRequest, LoadResult } from './load/load-generator.ts';
import { installNodeRed, startNodeRed, type NodeRedStyle } from './load/node-red.ts';
import { cores, monotonicMs, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { raisePriority } from './load/priority.ts';
import { cpuSeconds } from './load/process-facts.ts';
import { counterOf, type RawLogin } from './load/raw-device.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { median, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '60000' },
    'without-node-red': { type: 'boolean', default: false },
  },
});
const deviceCount = 200;
const inFlight = 20;
const rounds = Number(values.rounds);
const perDevice = Math.ceil(Number(values.messages) / deviceCount);
/** Node-RED syncs the disk for each message, so the full number would take minutes. */
const perDeviceNodeRed = Math.ceil(perDevice / 30);
const goals = { ratio: 0.5, nodeRed: 10 };

/** A receiver of the load. `take` returns the monotonic millisecond at which it has stored or counted a whole round. */
type Subject = {
  name: string;
  pid: number;
  perDevice: number;
  take(load: Promise<LoadResult>, messages: number): Promise<number>;
};
type Sample = { perSecond: number; busy: number };

type Rig = { workspace: Workspace; generator: Pinned; logins: DeviceLogin[]; program: string };

const connectDevices = ({ generator }: Rig, name: string, port: number, logins: RawLogin[]): Promise<unknown> =>
  request(generator, { kind: 'connect', name, port, stationId, logins } satisfies LoadRequest);

async function embedded(rig: Rig): Promise<Subject> {
  const name = 'station, embedded broker';
  const backend = await startStationBackend(rig.workspace, { ...rig, name: 'embedded' });
  await connectDevices(rig, name, backend.mqttPort, rig.logins);
  const onDisk = watchCounters(rig.workspace, backend.dataDir);
  let sentCount = 0;
  return {
    name,
    pid: backend.daemon.pid,
    perDevice,
    take: async (load, messages) => {
      const { acknowledgedMs } = await load;
      sentCount += messages;
      assert.equal(onDisk(), sentCount, 'an acknowledged state is not on disk');
      return acknowledgedMs;
    },
  };
}

async function forwarding(rig: Rig): Promise<Subject> {
  const name = 'aedes → a client that counts';
  const { workspace } = rig;
  const script = (file: string): string => join(import.meta.dirname, 'load', file);
  const log = (file: string) => ({ logFile: join(workspace.folder, `${file}.log`) });
  const broker = workspace.own(await startScript(cores.measured, script('forwarding-broker.ts'), log('aedes')));
  const port = await request<number>(broker, {});
  // The broker has the core for itself. The station's broker shares it with everything that follows.
  const counter = workspace.own(await startScript(cores.load, script('counting-client.ts'), log('aedes-counter')));
  await request(counter, connectTo(`mqtt://127.0.0.1:${port}`, null, false));
  await connectDevices(rig, name, port, rig.logins);
  return { name, pid: broker.pid, perDevice, take: (_, messages) => count(counter, messages) };
}

async function throughMosquitto(rig: Rig, mosquitto: Mosquitto): Promise<Subject> {
  const name = 'station, Mosquitto';
  const mqtt = {
    MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
    MQTT_USERNAME: 'backend',
    MQTT_PASSWORD: mosquitto.password,
  };
  const backend = await startStationBackend(rig.workspace, { ...rig, name: 'mosquitto-backend', mqtt });
  // The backend creates the logins at the broker after its start.
  for (let attempt = 1; ; attempt++) {
    try {
      await connectDevices(rig, name, mosquitto.port, rig.logins);
      break;
    } catch (error) {
      if (attempt === 50) throw error;
      await sleep(200);
    }
  }
  const onDisk = watchCounters(rig.workspace, backend.dataDir);
  let sentCount = 0;
  return {
    name,
    pid: backend.daemon.pid,
    perDevice,
    take: async (load, messages) => {
      sentCount += messages;
      return takenWhen(load, () => onDisk() >= sentCount, 10);
    },
  };
}

async function mosquittoAlone(rig: Rig, mosquitto: Mosquitto): Promise<Subject> {
  const name = 'Mosquitto → a client that counts';
  const { workspace } = rig;
  const script = join(import.meta.dirname, 'load', 'counting-client.ts');
  const logFile = join(workspace.folder, 'counter.log');
  const counter = workspace.own(await startScript(cores.measured, script, { logFile }));
  await request(counter, connectTo(`mqtt://127.0.0.1:${mosquitto.port}`, mosquitto.password, true));
  await connectDevices(rig, name, mosquitto.port, await sharedLogins(rig, mosquitto));
  return { name, pid: counter.pid, perDevice, take: (_, messages) => count(counter, messages) };
}

async function nodeRed(rig: Rig, mosquitto: Mosquitto, style: NodeRedStyle): Promise<Subject> {
  const name = `Node-RED, Mosquitto (${style})`;
  const mqtt = { port: mosquitto.port, username: 'backend', password: mosquitto.password };
  const { daemon, rows } = await startNodeRed(rig.workspace, { script: await installNodeRed(), style, mqtt });
  await connectDevices(rig, name, mosquitto.port, await sharedLogins(rig, mosquitto));
  let sentCount = 0;
  return {
    name,
    pid: daemon.pid,
    perDevice: style === 'usual' ? perDeviceNodeRed : perDevice,
    take: async (load, messages) => {
      sentCount += messages;
      return takenWhen(load, () => rows() >= sentCount, 100);
    },
  };
}

const connectTo = (url: string, password: string | null, asBridge: boolean): CountRequest => ({
  kind: 'connect',
  url,
  username: password === null ? null : 'backend',
  password,
  asBridge,
});
const count = (counter: Pinned, messages: number): Promise<number> =>
  request<number>(counter, { kind: 'count', count: messages } satisfies CountRequest);

async function takenWhen(load: Promise<LoadResult>, isTaken: () => boolean, everyMs: number): Promise<number> {
  while (!isTaken()) await sleep(everyMs);
  const takenMs = monotonicMs();
  await load;
  return takenMs;
}

/**
 * The number of states on disk, from the counter in the latest state of each device, because states of one device
 * arrive in order.
 */
function watchCounters(workspace: Workspace, dataDir: string): () => number {
  const database = new DatabaseSync(join(dataDir, 'station.sqlite'), { readOnly: true, timeout: 5_000 });
  workspace.own({ [Symbol.asyncDispose]: async () => database.close() });
  const query = database.prepare(
    `select coalesce(sum(coalesce(${latestState} ->> 'counter', ${counterOf(0)}) - ${counterOf(0)}), 0) as n from devices`,
  );
  return () => Number(query.get()?.['n']);
}

/** One Mosquitto login for all devices; it does not change what is measured. */
async function sharedLogins({ logins }: Rig, mosquitto: Mosquitto): Promise<(RawLogin & { username: string })[]> {
  const username = 'devices';
  const token = 'token-of-all-devices';
  const login = ['-h', '127.0.0.1', '-p', String(mosquitto.port), '-u', 'backend', '-P', mosquitto.password];
  const dynsec = (...command: string[]): Promise<string> => run('mosquitto_ctrl', [...login, 'dynsec', ...command]);
  await dynsec('createRole', 'device');
  await dynsec('addRoleACL', 'device', 'publishClientSend', 'station/#', 'allow');
  await dynsec('createClient', username, '-p', token);
  await dynsec('addClientRole', username, 'device');
  return logins.map(({ externalId }) => ({ externalId, username, token }));
}

async function measure({ generator }: Rig, subject: Subject): Promise<Sample> {
  const messages = subject.perDevice * deviceCount;
  const { name, pid } = subject;
  const busyBefore = await cpuSeconds(pid);
  const sendRequest: LoadRequest = { kind: 'send', name, count: subject.perDevice, inFlight };
  const load = request<LoadResult>(generator, sendRequest);
  const takenMs = await subject.take(load, messages);
  const seconds = (takenMs - (await load).startedMs) / 1000;
  const sample = { perSecond: messages / seconds, busy: ((await cpuSeconds(pid)) - busyBefore) / seconds };
  process.stdout.write(`  ${name}: ${Math.round(sample.perSecond)}/s, core ${Math.round(sample.busy * 100)} % busy\n`);
  return sample;
}

async function main(): Promise<number> {
  needTwoCores();
  // Processes started from here run on the core of the load unless another one is given.
  await run('taskset', ['--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  await using stack = new AsyncDisposableStack();
  // Other programs would slow down the busiest process most and distort the comparison.
  const priority = await raisePriority(process.pid);
  if (priority !== null) stack.use(priority);
  const workspace = stack.use(await createWorkspace());
  const mosquittos = async (): Promise<Mosquitto> => createMosquitto(stack.use(await createWorkspace()));
  const script = join(import.meta.dirname, 'load', 'load-generator.ts');
  const logFile = join(workspace.folder, 'load.log');
  const generator = workspace.own(await startScript(cores.load, script, { logFile }));
  const rig: Rig = { workspace, generator, logins: makeLogins(deviceCount), program: await buildBackend(workspace) };
  const subjects = {
    embedded: await embedded(rig),
    forwarding: await forwarding(rig),
    mosquitto: await throughMosquitto(rig, await mosquittos()),
    counting: await mosquittoAlone(rig, await mosquittos()),
    ...(values['without-node-red']
      ? {}
      : {
          usual: await nodeRed(rig, await mosquittos(), 'usual'),
          best: await nodeRed(rig, await mosquittos(), 'best'),
        }),
  };
  const samples = new Map<Subject, Sample[]>(Object.values(subjects).map((subject) => [subject, []]));
  for (let index = 0; index <= rounds; index++) {
    process.stdout.write(index === 0 ? 'warming up\n' : `round ${index} of ${rounds}\n`);
    for (const [subject, all] of samples) {
      const sample = await measure(rig, subject);
      if (index > 0) all.push(sample);
    }
  }
  return report(subjects, (subject) => median((samples.get(subject) ?? []).map(({ perSecond }) => perSecond)));
}

type Subjects = Record<'embedded' | 'forwarding' | 'mosquitto' | 'counting', Subject> &
  Partial<Record<NodeRedStyle, Subject>>;

function report(subjects: Subjects, rateOf: (subject: Subject) => number): number {
  const perSecond = Object.fromEntries(Object.entries(subjects).map(([key, one]) => [key, Math.round(rateOf(one))]));
  process.stdout.write('\n');
  for (const one of Object.values(subjects))
    process.stdout.write(`${one.name.padEnd(36)} ${String(Math.round(rateOf(one))).padStart(8)}/s\n`);
  const ratio = {
    embedded: round(rateOf(subjects.embedded) / rateOf(subjects.forwarding)),
    mosquitto: round(rateOf(subjects.mosquitto) / rateOf(subjects.counting)),
  };
  const over = (subject: Subject | undefined): number | null =>
    subject === undefined
      ? null
      : round(Math.min(rateOf(subjects.embedded), rateOf(subjects.mosquitto)) / rateOf(subject), 1);
  const timesNodeRed = { usual: over(subjects.usual), best: over(subjects.best) };
  const worst = Math.min(ratio.embedded, ratio.mosquitto);
  const ok = worst >= goals.ratio && (timesNodeRed.usual ?? goals.nodeRed) >= goals.nodeRed;
  const value = Math.round(rateOf(subjects.embedded));
  const result = {
    bench: 'ingest',
    value,
    unit: 'durable states/s, embedded broker',
    ratio: worst,
    goal: goals.ratio,
    ok,
  };
  process.stdout.write(`${JSON.stringify({ ...result, ratios: ratio, timesNodeRed, goals, perSecond, rounds })}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();

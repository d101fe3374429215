/**
 * `npm run bench -- gateways [--devices 300] [--models 40] [--per-second 100] [--seconds 30] [--rounds 3]`
 *
 * A Zigbee2MQTT with devices of as many models of its catalogue. Measures what they take of the memory of the built backend, beside one
 * device, and how old a state is when it reaches a browser. See docs/benchmarks.md.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { SimulatedZigbeeDevice } from '@station/backend/testing/simulated-zigbee2mqtt';
import type { GatewayLoginSheet } from '@station/protocol/gateways';
import { waitFor } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';
import { readZigbeeDefinitions } from '../rig/zigbee-definitions.ts';
import type { GatewayRequest } from './load/paced-gateway.ts';
import { cores, needTwoCores, type Pinned, request, startScript } from './load/pinned.ts';
import { memoryOf } from './load/process-facts.ts';
import { raisePriority } from './load/priority.ts';
import { buildBackend, startStationBackend, type StationBackend } from './load/station-backend.ts';
import { median, percentile, round } from './load/statistics.ts';
import type { WatchRequest } from './load/watcher.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '300' },
    models: { type: 'string', default: '40' },
    'per-second': { type: 'string', default: '100' },
    seconds: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
  },
});
const deviceCount = Number(values.devices);
const modelCount = Number(values.models);
const perSecond = Number(values['per-second']);
const seconds = Number(values.seconds);
const goals = { megabytes: 10, browserMs: 50 };
/** The backend gives back what it needed for a moment within this time: it collects once a minute (`quiet-collection.ts`). */
const restMs = 80_000;
const looks = 7;

/** Each with a number of its own, which has the time at which it was sent. */
async function makeDevices(): Promise<SimulatedZigbeeDevice[]> {
  const all = await readZigbeeDefinitions();
  const counter = { type: 'numeric', name: 'counter', property: 'counter', label: 'Counter', access: 1 };
  return Array.from({ length: deviceCount }, (_, index) => {
    const { exposes, ...model } = all[Math.floor(((index % modelCount) * all.length) / modelCount)]!;
    const address = `0x${(0x00158d0000000000n + BigInt(index)).toString(16).padStart(16, '0')}`;
    return {
      entry: {
        ieee_address: address,
        friendly_name: `device ${index}`,
        type: 'Router',
        supported: true,
        disabled: false,
        interview_completed: true,
        definition: { ...model, exposes: [...exposes, counter] },
      },
      state: {},
    };
  });
}

/** Megabytes that the process itself has written, at rest. */
async function restingMemory({ daemon }: StationBackend): Promise<number> {
  await sleep(restMs);
  const seen: number[] = [];
  for (let look = 0; look < looks; look++) {
    seen.push((await memoryOf(daemon.pid)).privateDirty);
    await sleep(1_000);
  }
  return (median(seen) * 2 ** 20) / 1e6;
}

/** 99th percentile of the ages of states, in milliseconds; a state that did not come within a second counts as lost. */
async function measure(gateway: Pinned, watcher: Pinned): Promise<number> {
  const taken = (): Promise<number[]> => request(watcher, { kind: 'take' } satisfies WatchRequest);
  await taken();
  await request(gateway, { kind: 'send', perSecond, seconds } satisfies GatewayRequest);
  await sleep(1_000);
  const ages = await taken();
  const lost = Math.max(0, perSecond * seconds - ages.length);
  const p99 = percentile([...ages, ...Array<number>(lost).fill(Infinity)], 99);
  process.stdout.write(`p50 ${round(median(ages))} ms, p99 ${round(p99)} ms, ${lost} lost\n`);
  return p99;
}

async function main(): Promise<number> {
  needTwoCores();
  await using workspace = await createWorkspace();
  const devices = await makeDevices();
  const program = await buildBackend(workspace);
  const backend = await startStationBackend(workspace, { name: 'backend', program, logins: [] });
  const priority = await raisePriority(backend.daemon.pid);
  if (priority !== null) workspace.own(priority);
  const token = await backend.logIn();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const given = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' };
  const init = { method: 'POST', headers, body: JSON.stringify(given) };
  const sheet = (await (await fetch(`${backend.url}/api/gateways`, init)).json()) as GatewayLoginSheet;
  const start = async (name: string): Promise<Pinned> => {
    const script = join(import.meta.dirname, `load/${name}.ts`);
    return workspace.own(await startScript(cores.load, script, { logFile: join(workspace.folder, `${name}.log`) }));
  };
  const gateway = await start('paced-gateway');
  const watcher = await start('watcher');
  const url = `mqtt://127.0.0.1:${backend.mqttPort}`;
  const login = { username: sheet.login, password: sheet.password };
  await request(gateway, { kind: 'connect', url, login } satisfies GatewayRequest);
  await request(watcher, { kind: 'open', url: backend.url, token } satisfies WatchRequest);
  const announce = async (more: SimulatedZigbeeDevice[], count: number): Promise<void> => {
    await request(gateway, { kind: 'announce', devices: more } satisfies GatewayRequest);
    await waitFor('the devices', async () => {
      const [row] = backend.query<{ n: number }>('select count(*) as n from gateway_devices');
      return row?.n === count;
    });
  };
  // What a gateway takes whatever it has: the program's own code, the cache of the database.
  await announce(devices.slice(0, 1), 1);
  await measure(gateway, watcher);
  const before = await restingMemory(backend);
  await announce(devices.slice(1), deviceCount);
  await request(gateway, { kind: 'send', perSecond, seconds: deviceCount / perSecond } satisfies GatewayRequest);
  const megabytes = round((await restingMemory(backend)) - before, 1);
  process.stdout.write(`${deviceCount} devices of ${modelCount} models: ${megabytes} MB (goal ${goals.megabytes})\n`);
  const rounds: number[] = [];
  for (let index = 0; index <= Number(values.rounds); index++) {
    const p99 = await measure(gateway, watcher);
    // The first one warms up.
    if (index > 0) rounds.push(p99);
  }
  const browserMs = round(median(rounds));
  const ratio = round(Math.max(megabytes / goals.megabytes, browserMs / goals.browserMs));
  const result = {
    bench: 'gateways',
    value: browserMs,
    unit: 'ms, state to browser, p99',
    ratio,
    goal: 1,
    ok: ratio <= 1,
  };
  process.stdout.write(`${JSON.stringify({ ...result, megabytes, devices: deviceCount, models: modelCount })}\n`);
  return ratio <= 1 ? 0 : 1;
}

process.exitCode = await main();

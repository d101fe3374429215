/**
 * `npm run bench -- https [--rounds 15] [--commands 100] [--starts 5] [--idle 20]`
 *
 * How long a command takes, from the request of a browser through the proxy, the backend and the broker to a device, and
 * back as its confirmation: with HTTPS and MQTT over TLS, beside both plain. Before, the memory of an idle backend whose own broker has a
 * certificate, and of one whose broker has none. See docs/benchmarks.md.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findFreePort } from '@station/kit/free-port';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { startVirtualDevice, type DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createCaddy } from '../rig/caddy.ts';
import { createMosquitto, type Mosquitto } from '../rig/mosquitto.ts';
import { run, waitFor } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { raisePriority } from './load/priority.ts';
import { memoryOf } from './load/process-facts.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { median, percentile, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    commands: { type: 'string', default: '100' },
    starts: { type: 'string', default: '5' },
    idle: { type: 'string', default: '20' },
  },
});
const rounds = Number(values.rounds);
const count = Number(values.commands);
const starts = Number(values.starts);
const idleMs = Number(values.idle) * 1000;
const goal = 1.3;
/** Two starts of one program differ by more. */
const goalMiB = 1;
const pauseMs = 5;

type Way = 'plain' | 'tls';
type Side = { watcher: Pinned; deviceId: string };

async function main(): Promise<number> {
  needTwoCores();
  await run('taskset', ['--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  await using stack = new AsyncDisposableStack();
  const priority = await raisePriority(process.pid);
  if (priority !== null) stack.use(priority);
  const workspace = stack.use(await createWorkspace());
  const program = await buildBackend(workspace);
  const broker = await createMosquitto(workspace, { tls: true });
  assert.ok(broker.tls);
  const memory = await measureMemory(workspace, program, broker.tls);
  const { backend, sides } = await startSides(workspace, program, broker);
  const samples: Record<Way, number[]> = { plain: [], tls: [] };
  for (let nth = 0; nth <= rounds; nth++) {
    process.stdout.write(nth === 0 ? 'warming up\n' : `round ${nth} of ${rounds}\n`);
    // Each is first in half of the rounds.
    const order: Way[] = nth % 2 === 0 ? ['plain', 'tls'] : ['tls', 'plain'];
    for (const way of order) {
      const { watcher, deviceId } = sides[way];
      const took = await request<number[]>(watcher, { kind: 'command', deviceId, count, pauseMs });
      process.stdout.write(`  ${way}: p50 ${round(percentile(took, 50))} ms, p99 ${round(percentile(took, 99))} ms\n`);
      if (nth > 0) samples[way].push(...took);
    }
  }
  const value = percentile(samples.tls, 99);
  const plainMs = percentile(samples.plain, 99);
  const ratio = round(value / plainMs);
  const idleMiB = round(memory.tls - memory.plain, 1);
  const { private: backendMiB } = await memoryOf(backend.daemon.pid);
  const [medianMs, plainMedianMs] = [samples.tls, samples.plain].map((took) => round(percentile(took, 50)));
  const ok = ratio <= goal && idleMiB <= goalMiB;
  const idle = { idleMiB, plainIdleMiB: round(memory.plain, 1), backendMiB: round(backendMiB, 1) };
  const more = { plainMs: round(plainMs), medianMs, plainMedianMs, ...idle };
  const unit = 'ms from command to confirmation, p99';
  process.stdout.write(`${JSON.stringify({ bench: 'https', value: round(value), unit, ratio, goal, ok, ...more })}\n`);
  return ok ? 0 : 1;
}

/** Private memory of an idle backend with its own broker, MiB: the median of several starts, in turns. */
async function measureMemory(
  workspace: Workspace,
  program: string,
  { caFile, keyFile }: { caFile: string; keyFile: string },
): Promise<Record<Way, number>> {
  const pair = join(workspace.folder, 'pair.pem');
  await writeFile(pair, (await readFile(caFile, 'utf8')) + (await readFile(keyFile, 'utf8')), { mode: 0o600 });
  const found: Record<Way, number[]> = { plain: [], tls: [] };
  for (let nth = 0; nth < starts; nth++) {
    for (const way of ['plain', 'tls'] as const) {
      const port = String(await findFreePort());
      const env = way === 'tls' ? { MQTT_TLS_FILE: pair, MQTT_TLS_PORT: port } : {};
      const backend = await startStationBackend(workspace, { name: `idle-${way}-${nth}`, program, logins: [], env });
      await sleep(idleMs);
      const { privateDirty } = await memoryOf(backend.daemon.pid);
      found[way].push(privateDirty);
      process.stdout.write(`idle, ${way}: ${round(privateDirty, 1)} MiB\n`);
      await backend.daemon.stop();
    }
  }
  return { plain: median(found.plain), tls: median(found.tls) };
}

/** One station; a browser and a lamp that come to it in the open, and a browser and a lamp over TLS. */
async function startSides(workspace: Workspace, program: string, broker: Mosquitto) {
  const lamps = makeLogins(12).filter((login) => login.type === 'light');
  const logins: Record<Way, DeviceLogin> = { plain: lamps[0]!, tls: lamps[1]! };
  assert.ok(broker.tls);
  const { caFile, keyFile } = broker.tls;
  setDefaultCACertificates([...getCACertificates(), await readFile(caFile, 'utf8')]);
  const mqtt = {
    MQTT_URL: `mqtt://127.0.0.1:${broker.port}`,
    MQTT_USERNAME: 'backend',
    MQTT_PASSWORD: broker.password,
  };
  const backend = await startStationBackend(workspace, { name: 'backend', program, logins: lamps, mqtt });
  const token = await backend.logIn();
  const port = await findFreePort();
  const httpsPort = await findFreePort();
  const firmwareFolder = await workspace.subfolder('firmware');
  const https = { port: httpsPort, certificate: caFile, key: keyFile };
  await createCaddy(workspace, { port, backendUrl: backend.url, firmwareFolder, https });
  const urls: Record<Way, { web: string; mqtt: string }> = {
    plain: { web: `http://127.0.0.1:${port}`, mqtt: `mqtt://127.0.0.1:${broker.port}` },
    tls: { web: `https://127.0.0.1:${httpsPort}`, mqtt: `mqtts://127.0.0.1:${broker.tls.port}` },
  };
  const startSide = async (way: Way): Promise<Side> => {
    const login = logins[way];
    const device = workspace.own(startVirtualDevice({ url: urls[way].mqtt, stationId, login, seed: way }));
    await waitFor('the handshake of the lamp', () => device.isAccepted(), 60_000);
    const script = join(import.meta.dirname, 'load/watcher.ts');
    const options = { logFile: join(workspace.folder, `${way}.log`), env: { NODE_EXTRA_CA_CERTS: caFile } };
    const watcher = workspace.own(await startScript(cores.load, script, options));
    await request(watcher, { kind: 'open', url: urls[way].web, token });
    const [row] = backend.query<{ id: string }>(`select id from devices where external_id = '${login.externalId}'`);
    assert.ok(row);
    return { watcher, deviceId: row.id };
  };
  return { backend, sides: { plain: await startSide('plain'), tls: await startSide('tls') } };
}

process.exitCode = await main();

/**
 * `npm run bench -- tls-cost [--rounds 15] [--commands 100]`
 *
 * How long a command takes, from the request of a browser through the proxy, the backend and the broker to a device, and
 * back as its confirmation: with HTTPS and MQTT over TLS, beside both plain. See docs/benchmarks.md.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { parseArgs } from 'node:util';
import { findFreePort } from '@station/kit/free-port';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { startVirtualDevice, type DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createCaddy } from '../rig/caddy.ts';
import { createMosquitto } from '../rig/mosquitto.ts';
import { run, waitFor } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { raisePriority } from './load/priority.ts';
import { memoryOf } from './load/process-facts.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { percentile, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, commands: { type: 'string', default: '100' } },
});
const rounds = Number(values.rounds);
const count = Number(values.commands);
const goal = 1.3;
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
  const { backend, sides } = await startSides(workspace);
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
  const { private: backendMiB } = await memoryOf(backend.daemon.pid);
  const [medianMs, plainMedianMs] = [samples.tls, samples.plain].map((took) => round(percentile(took, 50)));
  const more = { plainMs: round(plainMs), medianMs, plainMedianMs, backendMiB: round(backendMiB, 1) };
  const unit = 'ms from command to confirmation, p99';
  process.stdout.write(
    `${JSON.stringify({ bench: 'tls-cost', value: round(value), unit, ratio, goal, ok: ratio <= goal, ...more })}\n`,
  );
  return ratio <= goal ? 0 : 1;
}

/** One station; a browser and a lamp that come to it in the open, and a browser and a lamp over TLS. */
async function startSides(workspace: Workspace) {
  const lamps = makeLogins(12).filter((login) => login.type === 'light');
  const logins: Record<Way, DeviceLogin> = { plain: lamps[0]!, tls: lamps[1]! };
  const program = await buildBackend(workspace);
  const broker = await createMosquitto(workspace, { tls: true });
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

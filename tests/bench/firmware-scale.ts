/**
 * `npm run bench -- firmware-scale [--devices=1000]`
 *
 * A firmware of 1.2 MB goes to a thousand devices. Manifest, agent, backend, Mosquitto and Caddy each run in their own
 * process. The time is judged against plain downloads in the same run: the same number in parallel, through the same
 * proxy, at the speed of the same devices.
 *
 * The proxy's unthrottled speed is also reported (`unthrottled…`). A rollout to devices this slow cannot reach it. One
 * device that takes no part sends states, and a browser receives them: their delay is measured before and during the
 * rollout.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'mqtt';
import WebSocket from 'ws';
import { deviceTopic } from '@station/protocol/topics';
import { simulatedTypes } from '@station/simulators/devices/devices-file';
import { fetchMissingPart } from '@station/simulators/devices/image-fetch';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { buildImage } from '@station/simulators/firmware/image-builder';
import { createThrottle } from '@station/simulators/releases/throttle';
import { stationId, type Installation } from '../e2e/backend/installation.ts';
import { startFirmwareStation, type FirmwareStation } from '../e2e/firmware/station.ts';
import { waitFor } from '../rig/program.ts';
import { percentile, round } from './load/statistics.ts';

const devices = Number(process.argv.find((flag) => flag.startsWith('--devices='))?.slice(10) ?? 1_000);
const imageBytes = 1_200_000;
const bytesPerSecond = 200_000;
/** For each of the four rollouts. */
const concurrency = 16;
const atOnce = concurrency * simulatedTypes.length;
const goal = 1.5;
/** Files per unthrottled download. With only one, most of the time would be the start. */
const unthrottledRounds = 10;
const stateEveryMs = 40;

type Latency = AsyncDisposable & { take(): number[] };

/** A device that sends increasing numbers, and a browser that receives them. */
async function measureLatency(installation: Installation, login: DeviceLogin): Promise<Latency> {
  const { externalId, token } = login;
  const sentAtMs = new Map<number, number>();
  let latencies: number[] = [];
  const device = connect(installation.mqttUrl, { clientId: externalId, username: externalId, password: token });
  const topic = (end: 'handshake' | 'state'): string => deviceTopic(stationId, externalId, end);
  await waitFor('the device to be connected', () => device.connected);
  // A version and a chip for which there is no image.
  const hello = { type: login.type, firmwareVersion: '99.0.0', chip: 'other' };
  device.publish(topic('handshake'), JSON.stringify(hello), { qos: 1 });
  const auth = JSON.stringify({ type: 'auth', token: await installation.logIn() });
  const browser = new WebSocket(`${installation.url.replace('http', 'ws')}/ws`);
  let isListening = false;
  browser.on('open', () => browser.send(auth));
  browser.on('message', (data: Buffer) => {
    const { type, state } = JSON.parse(data.toString('utf8')) as { type: string; state?: { n?: number } };
    if (type === 'hello') isListening = true;
    const at = type === 'device_state' ? sentAtMs.get(state?.n ?? -1) : undefined;
    if (at !== undefined) latencies.push(performance.now() - at);
  });
  await waitFor('the browser to listen', () => isListening);
  let n = 0;
  const timer = setInterval(() => {
    sentAtMs.set((n += 1), performance.now());
    device.publish(topic('state'), JSON.stringify({ state: { n } }), { qos: 1 });
  }, stateEveryMs);
  return {
    take: () => {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      browser.terminate();
      await device.endAsync(true);
    },
  };
}

/** Bytes per second of parallel plain downloads. Throttled ones are as fast as a device writes. */
async function plainRate(url: string, rounds: number, isThrottled: boolean): Promise<number> {
  const startedAt = performance.now();
  const one = async (): Promise<void> => {
    const line = createThrottle(bytesPerSecond);
    let offset = 0;
    const write = async (bytes: Uint8Array): Promise<void> => {
      if (!isThrottled) offset += bytes.length;
      else for await (const piece of line.send(bytes)) offset += piece.length;
    };
    const sink = { offset: () => offset, etag: () => null, restart: () => void (offset = 0), write };
    const outcome = await fetchMissingPart(sink, { url, size: imageBytes, signal: AbortSignal.timeout(60_000) });
    if (outcome.kind !== 'ended') throw new Error(`a plain download: ${outcome.reason}`);
  };
  for (let round = 0; round < rounds; round += 1) await Promise.all(Array.from({ length: atOnce }, one));
  return (rounds * atOnce * imageBytes) / ((performance.now() - startedAt) / 1000);
}

async function updateAll(station: FirmwareStation): Promise<number> {
  const done = async (): Promise<boolean> => {
    const [row] = await station.installation.query<{ n: string }>(
      `select count(*) as n from firmware_targets where state = 'updated'`,
    );
    process.stderr.write(`\r${row?.n ?? 0} of ${devices} updated `);
    await delay(500);
    return Number(row?.n) === devices;
  };
  const hasBegun = async (): Promise<boolean> =>
    (await station.installation.query('select 1 from firmware_targets')).length > 0;
  await station.agent.call('POST', '/check');
  await waitFor('the rollout to begin', hasBegun, 60_000);
  const startedAt = performance.now();
  await waitFor('all to be updated', done, 600_000);
  process.stderr.write('\n');
  return performance.now() - startedAt;
}

async function main(): Promise<boolean> {
  await using station = await startFirmwareStation({
    devices,
    sleepers: 0,
    otaBytesPerSecond: bytesPerSecond,
    spares: 1,
    env: {
      FIRMWARE_SOAK_SECONDS: '0',
      FIRMWARE_CONCURRENCY: String(concurrency),
      FIRMWARE_STARTS_PER_MINUTE: '10000',
    },
  });
  const { server, agent, installation, caddy } = station;
  await installation.startBackend();
  await agent.start();
  await station.startDevices();
  const isEverywhere = async (): Promise<boolean> =>
    [...(await station.versions()).values()].filter((version) => version === '1.0.0').length === devices;
  await waitFor('all devices to report their version', isEverywhere, 120_000);
  await using latency = await measureLatency(installation, installation.logins.at(-1) as DeviceLogin);
  await delay(15_000);
  const idle = percentile(latency.take(), 99);
  for (const type of simulatedTypes) {
    server.offer(type, '1.1.0', buildImage({ project: type, version: '1.1.0', bytes: imageBytes, chip: 'esp32' }));
  }
  const before = await caddy.sentBytes();
  const ms = await updateAll(station);
  const busy = percentile(latency.take(), 99);
  const sent = (await caddy.sentBytes()) - before;
  const url = `${station.publicUrl}/firmware/${simulatedTypes[0]}@1.1.0.bin`;
  const rate = await plainRate(url, 1, true);
  const unthrottled = await plainRate(url, unthrottledRounds, false);
  const ideal = devices * imageBytes;
  const ratio = ms / 1000 / (ideal / rate);
  const measured = {
    bytesRatio: round(sent / ideal, 3),
    seconds: round(ms / 1000, 1),
    plainMBps: round(rate / 1e6, 1),
    unthrottledMBps: round(unthrottled / 1e6, 1),
    unthrottledRatio: round(ms / 1000 / (ideal / unthrottled), 1),
    idleP99Ms: round(idle, 1),
    busyP99Ms: round(busy, 1),
    latencyRatio: round(busy / idle, 2),
  };
  const ok = ratio <= goal && measured.bytesRatio <= 1.05 && measured.latencyRatio <= 2;
  const result = { bench: 'firmware-scale', value: measured.seconds, unit: 's', ratio: round(ratio, 3), goal, ok };
  process.stdout.write(`${JSON.stringify({ ...result, devices, imageBytes, ...measured })}\n`);
  return ok;
}

process.exitCode = (await main()) ? 0 : 1;

/**
 * `npm run bench -- ble-latency-vstation [--samples 150]`
 *
 * Real BlueZ on simulated controllers in the virtual station: how long it takes from a device's advertisement, as the station's controller
 * hands it to the kernel (btmon), to the socket of a browser. Each sample is a device that BlueZ has not seen. All times are of the machine's
 * own clock; its processor is emulated, so the station is several times faster.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createWorkspace } from '../rig/workspace.ts';
import { backendPort, startBackend } from '../vstation/backend.ts';
import { bluetoothPorts, startBluetooth } from '../vstation/bluetooth.ts';
import { openImage } from '../vstation/image.ts';
import { startMachine } from '../vstation/machine.ts';
import { createBluetoothPayload } from '../vstation/payload.ts';
import { percentile, round } from './load/statistics.ts';

const { values } = parseArgs({ options: { samples: { type: 'string', default: '150' } } });
const samples = Number(values.samples);
const goalMs = 250;
/** Silence before each sample: browsers are told of an address once a second at most, and all samples have the same. */
const pauseMs = 1_200;
const monitorLog = '/run/vstation/btmon.log';
const browserLog = '/run/vstation/browser.log';

await using workspace = await createWorkspace();
const payload = await createBluetoothPayload(workspace);
const forwardedPorts = [...bluetoothPorts, backendPort];
// Boards have four.
const processors = 2;
const machine = await startMachine({ workspace, image: await openImage(), payload, forwardedPorts, processors });
const { device } = await startBluetooth(machine);
const backend = await startBackend(machine, { DEVICE_MQTT_HOST: '192.0.2.7' });
using watcher = await backend.watch();
await device.advertise({ name: 'SH_light_warm' });
await seen('SH_light_warm');
await machine.must(`systemd-run -q --unit=vstation-btmon -p StandardOutput=file:${monitorLog} stdbuf -oL btmon -T
  systemd-run -q --unit=vstation-browser -p StandardOutput=file:${browserLog} --setenv=TOKEN=${backend.token} \\
    /payload/node /payload/programs/browser.mjs ws://127.0.0.1:${backendPort}/ws
  until [ -s ${browserLog} ]; do sleep 0.2; done`);

const names = Array.from({ length: samples }, (_, index) => `SH_light_n${index}`);
for (const name of names) {
  device.send({ order: 'end_advertisement' });
  // A device that BlueZ knows keeps its old name for a moment.
  await machine.run(
    `busctl call org.bluez /org/bluez/hci0 org.bluez.Adapter1 RemoveDevice o ${devicePath(device.address)}`,
  );
  await delay(pauseMs);
  await device.advertise({ name });
  await seen(name);
}
await machine.must('systemctl stop vstation-btmon');
const heard = readMonitor((await machine.readFile(monitorLog)) ?? '');
const shown = new Map<string, number>();
for (const line of ((await machine.readFile(browserLog)) ?? '').trim().split('\n')) {
  const { atMs, name } = JSON.parse(line) as { atMs: number; name: string };
  if (!shown.has(name)) shown.set(name, atMs);
}
const times = names.map((name) => (shown.get(name) ?? NaN) - (heard.get(name) ?? NaN));
const known = times.filter((time) => !Number.isNaN(time));
const p99 = round(percentile(known, 99), 1);
const result = {
  bench: 'ble-latency-vstation',
  value: p99,
  unit: 'ms (p99)',
  ratio: null,
  goal: goalMs,
  ok: p99 <= goalMs && known.length === samples,
  samples: known.length,
  p50: round(percentile(known, 50), 1),
  longest: round(percentile(known, 100), 1),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exitCode = result.ok ? 0 : 1;

function devicePath(address: string): string {
  return `/org/bluez/hci0/dev_${address.replaceAll(':', '_')}`;
}

async function seen(name: string): Promise<void> {
  await watcher.next(
    name,
    ({ type, candidate }) => type === 'provisioning_candidate' && (candidate as { name: string }).name === name,
    { from: 0, timeoutMs: 30_000 },
  );
}

/** Name → when the station's controller first reported it, in ms since 1970. */
function readMonitor(text: string): Map<string, number> {
  const first = new Map<string, number>();
  let atMs: number | null = null;
  for (const line of text.split('\n')) {
    if (!line.startsWith(' ')) {
      const [, date, time] = /\[hci0\].* (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d+)$/.exec(line) ?? [];
      atMs = line.startsWith('>') && date !== undefined ? Date.parse(`${date}T${time?.slice(0, 12)}Z`) : null;
    }
    const name = /^\s+Name \(complete\): (\S+)/.exec(line)?.[1];
    if (atMs !== null && name !== undefined && !first.has(name)) first.set(name, atMs);
  }
  return first;
}

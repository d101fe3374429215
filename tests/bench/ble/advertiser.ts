// The BLE helper of the bench `ble-latency`: 1,000 advertisements a second of 500 devices, while the file BLE_ADVERTISER_FILE says "on".
// Twenty of the devices change with each advertisement and say when they were sent.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { provisioningServiceUuid } from '@station/protocol/ble-frames';
import { cores, monotonicMs } from '../load/pinned.ts';

const devices = 500;
const probes = 20;
const perSecond = 1_000;
const tickMs = 10;
/** A change is told at once, but only one a second of the same device. */
const probeEveryMs = 2_000;

execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(cores.load), String(process.pid)]);
const send = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
process.stdin.on('end', () => process.exit(0));
process.stdin.on('data', (text) => {
  if (String(text).includes('start_scan')) send({ event: 'scan_started' });
});
send({ event: 'ready' });

const advertise = (index: number, sentAt: number | null): void => {
  const id = index.toString(16).padStart(4, '0');
  send({
    event: 'discovered',
    address: `C0:DE:C0:DE:${id.slice(0, 2)}:${id.slice(2)}`.toUpperCase(),
    name: `SH_climate_${id}`,
    rssi: -50 - Math.floor(30 * Math.random()),
    service_uuids: [provisioningServiceUuid],
    service_data:
      sentAt === null ? {} : { [provisioningServiceUuid]: Buffer.from(`sent-${sentAt}`).toString('base64') },
  });
};

const isOn = async (): Promise<boolean> =>
  (await readFile(process.env['BLE_ADVERTISER_FILE'] ?? '', 'utf8').catch(() => '')) === 'on';

for (;;) {
  while (!(await isOn())) await sleep(100);
  const startedMs = monotonicMs();
  let sent = 0;
  let probed = 0;
  for (; await isOn(); await sleep(tickMs)) {
    const passedMs = monotonicMs() - startedMs;
    for (; sent < (passedMs * perSecond) / 1_000; sent++) {
      const isProbe = probed < (passedMs * probes) / probeEveryMs;
      if (isProbe) advertise(probed++ % probes, monotonicMs());
      else advertise(probes + (sent % (devices - probes)), null);
    }
  }
}

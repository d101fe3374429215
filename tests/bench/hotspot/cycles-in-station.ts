/**
 * Runs in the virtual station. Opens and closes the hotspot again and again through the agent's own adapter, on the
 * real NetworkManager. Writes one JSON line for each cycle, and one with the state of the machine before and after.
 * Argument: number of cycles.
 */
import { readdir, readFile } from 'node:fs/promises';
import {
  createNetworkManager,
  type NetworkManager,
} from '@station/agent/wifi/adapters/network-manager/network-manager';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { systemClock } from '@station/kit/clock';
import { runCommand } from '@station/kit/command';
import { countMatchRules } from '../../rig/private-bus.ts';

const { signal } = new AbortController();
const hotspot = { ssid: ssidFromText('Station-2a01'), password: null, address: '192.0.2.1', prefixLength: 24 };
const writeLine = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** State that must be the same before and after. */
async function recordMachineState(radio: NetworkManager): Promise<Record<string, unknown>> {
  const env = { PATH: process.env['PATH'] ?? '' };
  const { stdout } = await runCommand('nmcli', ['-g', 'UUID', 'connection', 'show'], { env });
  const programs = await listPrograms();
  const manager = programs.find(({ name }) => name === 'NetworkManager');
  const files = await readdir('/etc/NetworkManager/dnsmasq-shared.d').catch(() => []);
  return {
    profiles: stdout.split('\n').filter((line) => line !== '').length,
    programs: programs.map(({ name }) => name).sort(),
    ownDescriptors: (await readdir('/proc/self/fd')).length,
    managerDescriptors: manager ? (await readdir(`/proc/${manager.pid}/fd`)).length : null,
    listeners: radio.listenerCount(),
    matchRules: await countMatchRules('unix:path=/run/dbus/system_bus_socket'),
    dnsFiles: files,
    forwarding: (await readFile('/proc/sys/net/ipv4/conf/wlan0/forwarding', 'utf8')).trim(),
  };
}

async function listPrograms(): Promise<{ pid: string; name: string }[]> {
  const found: { pid: string; name: string }[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // Kernel threads have no arguments.
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (line !== '' && name.trim() !== 'nmcli') found.push({ pid, name: name.trim() });
  }
  return found;
}

async function cycle(radio: NetworkManager): Promise<{ startMs: number; stopMs: number; fault: string | null }> {
  const began = performance.now();
  const answer = await radio.startHotspot(hotspot, signal);
  const startMs = Math.round(performance.now() - began);
  const isUp = (await radio.observe()).radio?.hotspot?.ip === hotspot.address;
  const stopped = performance.now();
  await radio.stopHotspot();
  const stopMs = Math.round(performance.now() - stopped);
  const isGone = (await radio.observe()).radio?.hotspot === null;
  const fault = answer.kind === 'failed' ? answer.detail : isUp ? (isGone ? null : 'it did not end') : 'it was not up';
  return { startMs, stopMs, fault };
}

const count = Number(process.argv[2]);
await using radio = createNetworkManager({
  interface: 'wlan0',
  country: null,
  clock: systemClock,
  logger: {
    event: (event, fields) => writeLine({ event, ...fields }),
    failed: (where, error) => writeLine({ event: 'unexpected_error', where, message: String(error) }),
    subscribe: () => ({ [Symbol.dispose]: () => undefined }),
    keepSecret: () => undefined,
  },
});
// What the first cycles leave in caches is no leak.
for (let warm = 0; warm < 2; warm++) writeLine({ warm, ...(await cycle(radio)) });
const before = await recordMachineState(radio);
for (let number = 1; number <= count; number++) writeLine({ number, ...(await cycle(radio)) });
writeLine({ before, after: await recordMachineState(radio) });

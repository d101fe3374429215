import { stat, statfs } from 'node:fs/promises';
import { availableParallelism, networkInterfaces, uptime } from 'node:os';
import { join } from 'node:path';
import { type Clock, isoTime } from '@station/kit/clock';
import { readDiskHealth } from '@station/kit/machine-facts';
import type { Machine } from '@station/protocol/agent-machine';
import type { NetworkLink } from '@station/protocol/agent-network';
import { isOfContainers } from '../../core/container-links.ts';
import { content, type KernelPaths, names } from '../../core/adapters/kernel-files.ts';
import type { MachineFacts } from '../machine-ports.ts';

/**
 * Load, memory, disks, temperature and power of the machine, read now from the kernel's virtual files. What this machine does not
 * have is null or absent.
 * @param folders each disk that holds one of them is told once, with the first.
 */
export async function readMachine(
  folders: readonly string[],
  { sys, proc }: KernelPaths,
  clock: Clock,
): Promise<MachineFacts> {
  const uptimeSeconds = Math.floor(uptime());
  const [model, load, memory, disks, temperature, power] = await Promise.all([
    content(join(proc, 'device-tree/model')),
    content(join(proc, 'loadavg')),
    content(join(proc, 'meminfo')),
    readDisks(folders, { sys, proc }, uptimeSeconds),
    readTemperature(sys),
    readPower(sys),
  ]);
  return {
    // Device tree texts end with a NUL.
    model: model.replaceAll('\0', '') || (await content(join(sys, 'class/dmi/id/product_name'))) || null,
    cores: availableParallelism(),
    load: [...load.matchAll(/[\d.]+/g)].slice(0, 3).map(Number),
    memory: memoryOf(memory),
    disks,
    temperature,
    power,
    uptimeSeconds,
    now: isoTime(clock.now()),
  };
}

/** `MemAvailable` is what programs can get without swapping (proc_meminfo(5)). */
function memoryOf(text: string): Machine['memory'] {
  const bytes = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]);
  const memory = { totalBytes: bytes('MemTotal'), availableBytes: bytes('MemAvailable') };
  return Number.isFinite(memory.totalBytes) && Number.isFinite(memory.availableBytes) ? memory : null;
}

/** The start of a machine writes more than a usual hour. */
const leastUptimeSeconds = 3600;
const secondsOfDay = 24 * 3600;

async function readDisks(
  folders: readonly string[],
  kernel: KernelPaths,
  uptimeSeconds: number,
): Promise<Machine['disks']> {
  const disks = new Map<number, Machine['disks'][number]>();
  for (const path of folders) {
    try {
      const { dev } = await stat(path);
      if (disks.has(dev)) continue;
      const { bavail, blocks, bsize } = await statfs(path);
      const { writtenBytes, wear } = await readDiskHealth(path, kernel);
      const isLong = writtenBytes !== null && uptimeSeconds >= leastUptimeSeconds;
      disks.set(dev, {
        path,
        totalBytes: blocks * bsize,
        freeBytes: bavail * bsize,
        writtenBytesPerDay: isLong ? Math.round((writtenBytes / uptimeSeconds) * secondsOfDay) : null,
        lifeUsedPercent: wear?.usedPercent ?? null,
      });
    } catch {
      // It is not there, or not yet.
    }
  }
  return [...disks.values()];
}

/** Sensors of processors and boards are below this; a disconnected one may tell anything. */
const hottest = 150;

/** The highest of all sensors in millidegrees: /sys/class/thermal (sysfs-class-thermal) and hwmon (hwmon/sysfs-interface). */
async function readTemperature(sys: string): Promise<number | null> {
  const zones = (await names(join(sys, 'class/thermal')))
    .filter((name) => name.startsWith('thermal_zone'))
    .map((name) => join(sys, 'class/thermal', name, 'temp'));
  const inputs: string[] = [];
  for (const monitor of await names(join(sys, 'class/hwmon'))) {
    const folder = join(sys, 'class/hwmon', monitor);
    for (const name of await names(folder)) if (/^temp\d+_input$/.test(name)) inputs.push(join(folder, name));
  }
  const read = await Promise.all([...zones, ...inputs].map(content));
  const degrees = read.filter((text) => text !== '').map((text) => Number(text) / 1000);
  const real = degrees.filter((value) => value > 0 && value < hottest);
  return real.length === 0 ? null : Math.max(...real);
}

/** Bits of the Raspberry Pi's firmware (documentation of `vcgencmd get_throttled`). */
const bits = {
  isLow: 1 << 0,
  isCapped: 1 << 1,
  isSlowed: 1 << 2,
  wasLow: 1 << 16,
  wasCapped: 1 << 17,
  wasSlowed: 1 << 18,
};

/** Under-voltage and throttling of a Raspberry Pi: its firmware's word, else the alarm of its driver (hwmon `rpi_volt`). */
async function readPower(sys: string): Promise<Machine['power']> {
  const value = await readThrottled(sys);
  if (value !== null) {
    const has = (mask: number): boolean => (value & mask) !== 0;
    return {
      isLow: has(bits.isLow),
      wasLow: has(bits.wasLow),
      isSlowed: has(bits.isSlowed | bits.isCapped),
      wasSlowed: has(bits.wasSlowed | bits.wasCapped),
    };
  }
  for (const monitor of await names(join(sys, 'class/hwmon'))) {
    const folder = join(sys, 'class/hwmon', monitor);
    if ((await content(join(folder, 'name'))) !== 'rpi_volt') continue;
    const isLow = (await content(join(folder, 'in0_lcrit_alarm'))) === '1';
    return { isLow, wasLow: isLow, isSlowed: false, wasSlowed: false };
  }
  return null;
}

/** The firmware is below the chip: `soc/soc:firmware`, and on models whose chip has an address `soc@<address>/soc@<address>:firmware`. */
async function readThrottled(sys: string): Promise<number | null> {
  const platform = join(sys, 'devices/platform');
  for (const chip of (await names(platform)).filter((name) => /^soc(?:@|$)/.test(name))) {
    const word = await content(join(platform, chip, `${chip}:firmware/get_throttled`));
    if (/^[0-9a-f]+$/i.test(word)) return parseInt(word, 16);
  }
  return null;
}

/** The links of the machine with their addresses, wired ones first; without those of containers and virtual machines. */
export async function readLinks(sys: string): Promise<NetworkLink[]> {
  const links: NetworkLink[] = [];
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    const own = addresses.filter(({ internal }) => !internal);
    if (isOfContainers(name) || own.length === 0) continue;
    links.push({
      interface: name,
      kind: await kindOf(join(sys, 'class/net', name)),
      mac: own[0]?.mac ?? '',
      // Link-local addresses of IPv6 are of no use without the name of a link.
      addresses: own.map(({ address }) => address).filter((address) => !address.toLowerCase().startsWith('fe80:')),
    });
  }
  const order = ['ethernet', 'wifi', 'other'];
  return links.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** A Wi-Fi device has `phy80211` (sysfs-class-net), and each real one `device`. */
async function kindOf(folder: string): Promise<NetworkLink['kind']> {
  const has = await names(folder);
  if (has.includes('phy80211') || has.includes('wireless')) return 'wifi';
  return has.includes('device') ? 'ethernet' : 'other';
}

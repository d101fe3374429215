import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { makeDirectoryDurable, nodeDisk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';

/** Where the kernel shows itself; other folders in tests. */
export type KernelPaths = { sys: string; proc: string };
export const kernelPaths: KernelPaths = { sys: '/sys', proc: '/proc' };

/**
 * Whether a radio switch holds Wi-Fi (kernel documentation, sysfs-class-rfkill): `hard` is a switch on the case, `soft` software.
 * All Wi-Fi switches count, because NetworkManager's own switch works on all of them.
 */
export async function readBlocked(sys: string): Promise<'no' | 'soft' | 'hard'> {
  let result: 'no' | 'soft' | 'hard' = 'no';
  for (const name of await names(join(sys, 'class/rfkill'))) {
    const read = (file: string): Promise<string> => content(join(sys, 'class/rfkill', name, file));
    if ((await read('type')) !== 'wlan') continue;
    if ((await read('hard')) === '1') return 'hard';
    if ((await read('soft')) === '1') result = 'soft';
  }
  return result;
}

/** An IPv4 address of an interface that somebody other than NetworkManager has set up (ifupdown, systemd-networkd). */
export async function readForeignAddress(
  proc: string,
  name: string,
): Promise<{ ip: string; gateway: string | null } | null> {
  const address = networkInterfaces()[name]?.find(
    ({ family, address }) => family === 'IPv4' && !address.startsWith('169.254.'),
  );
  return address ? { ip: address.address, gateway: gatewayOf(await content(join(proc, 'net/route')), name) } : null;
}

/** The default route's gateway of an interface, from `/proc/net/route` (proc_pid_net(5)): little-endian hex. */
export function gatewayOf(routes: string, name: string): string | null {
  for (const line of routes.split('\n')) {
    const [iface, destination, gateway] = line.split(/\s+/);
    if (iface !== name || destination !== '00000000' || gateway === undefined || !/^[0-9A-F]{8}$/.test(gateway))
      continue;
    return [6, 4, 2, 0].map((at) => parseInt(gateway.slice(at, at + 2), 16)).join('.');
  }
  return null;
}

/** Whether any interface has a default route in `/proc/net/route`. */
export const hasDefaultRoute = async (proc: string): Promise<boolean> =>
  (await content(join(proc, 'net/route'))).split('\n').some((line) => line.split(/\s+/)[1] === '00000000');

/**
 * Whether somebody has port 53 on every address, so that no other resolver can have it on the hotspot's (`/proc/net/tcp`,
 * `/proc/net/udp`: local address in hex, state 0A is "listening"). One on a single address, as systemd-resolved, is no obstacle.
 */
export async function isDnsPortTaken(proc: string): Promise<boolean> {
  for (const [file, state] of [
    ['tcp', '0A'],
    ['tcp6', '0A'],
    ['udp', '07'],
    ['udp6', '07'],
  ] as const) {
    const table = await content(join(proc, 'net', file));
    if (table.split('\n').some((line) => isWildcardPort53(line, state))) return true;
  }
  return false;
}

const isWildcardPort53 = (line: string, state: string): boolean => {
  const [, local = '', , found] = line.trim().split(/\s+/);
  return found === state && /^0+:0035$/.test(local);
};

/** How many neighbours the kernel has on an interface with a complete entry (`/proc/net/arp`, flag 0x2): at least a hint. */
export async function countNeighbours(proc: string, name: string): Promise<number> {
  const table = await content(join(proc, 'net/arp'));
  return table.split('\n').filter((line) => {
    const [, , flags = '0', , , device] = line.trim().split(/\s+/);
    return device === name && (Number(flags) & 0x2) !== 0;
  }).length;
}

export type Forwarding = {
  /** IPv4 packets that come in on the interface go nowhere else, whatever rules say. @throws the kernel's refusal. */
  close(name: string): Promise<void>;
  /** As on the rest of the machine again: Docker's published ports need it. Nothing happens when the interface is gone. */
  restore(name: string): Promise<void>;
};

/** `net.ipv4.conf.<interface>.forwarding` (kernel documentation, ip-sysctl): decides about packets received on that interface. */
export function createForwarding(proc: string): Forwarding {
  const file = (name: string): string => join(proc, 'sys/net/ipv4/conf', name, 'forwarding');
  return {
    close: (name) => writeFile(file(name), '0\n'),
    restore: async (name) => {
      // A name that came out of a file must not lead elsewhere.
      if (!/^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,14}$/.test(name)) return;
      const machine = await content(join(proc, 'sys/net/ipv4/ip_forward'));
      if (machine !== '' && (await isThere(file(name)))) await writeFile(file(name), `${machine}\n`);
    },
  };
}

const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
/** Trimmed; empty when it cannot be read: the kernel was built without it, or the device has just gone. */
const content = (path: string): Promise<string> =>
  readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );

/** Read by the dnsmasq of NetworkManager's shared mode; the folder must stand when it starts. */
export const sharedDnsmasqFolder = '/etc/NetworkManager/dnsmasq-shared.d';

/**
 * What the hotspot's dnsmasq (2.90, dnsmasq(8)) is told: every name is the station, so that each probe of a phone lands on the
 * setup page. Any other question (AAAA, HTTPS) is answered at once with "no such record" by `local`: unanswered or refused ones
 * would let phones wait and ask elsewhere. Nothing is asked of servers that an earlier network left behind. `no-ping` gives
 * addresses out at once. No DHCP option 114: RFC 8908 wants https with a certificate that phones trust.
 */
const dnsAnswers = (address: string, interfaceName: string): string =>
  [`${interfaceMark}${interfaceName}`, `address=/#/${address}`, 'local=/#/', 'no-resolv', 'no-ping', ''].join('\n');

const interfaceMark = '# Written by the station agent while its hotspot is up on ';

export type DnsAnswers = {
  write(address: string, interfaceName: string): Promise<void>;
  /** Interface of the hotspot it was written for; null: it is not there. */
  interfaceName(): Promise<string | null>;
  remove(): Promise<void>;
};

/** The file also says, over a crash, that a hotspot was begun and must be undone, and where. */
export function createDnsAnswers(folder: string): DnsAnswers {
  const file = join(folder, 'station-portal.conf');
  return {
    write: async (address, interfaceName) => {
      await makeDirectoryDurable(nodeDisk, folder, 0o755);
      await writeDurable(nodeDisk, file, dnsAnswers(address, interfaceName), 0o644);
    },
    interfaceName: async () => {
      const content = await readText(nodeDisk, file);
      return content === null ? null : (content.split('\n')[0] ?? '').replace(interfaceMark, '');
    },
    remove: () => removeDurable(nodeDisk, file),
  };
}

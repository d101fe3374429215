import { access, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { makeDirectoryDurable, nodeDisk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import { ownValue } from '@station/protocol/own-value';
import { content, names } from '../../../core/adapters/kernel-files.ts';

/**
 * Whether a radio switch blocks Wi-Fi (kernel documentation, sysfs-class-rfkill): `hard` is a switch on the case, `soft` software.
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

/** An IPv4 address of an interface that another program has set up (ifupdown, systemd-networkd). */
export async function readForeignAddress(
  proc: string,
  name: string,
): Promise<{ ip: string; gateway: string | null } | null> {
  const address = ownValue(networkInterfaces(), name)?.find(
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
 * Whether a program uses port 53 on every address, so that no resolver can use it on the hotspot's (`/proc/net/tcp`,
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

/** Number of complete neighbour entries on an interface (`/proc/net/arp`, flag 0x2). An estimate. */
export async function countNeighbours(proc: string, name: string): Promise<number> {
  const table = await content(join(proc, 'net/arp'));
  return table.split('\n').filter((line) => {
    const [, , flags = '0', , , device] = line.trim().split(/\s+/);
    return device === name && (Number(flags) & 0x2) !== 0;
  }).length;
}

export type Forwarding = {
  /** Stops forwarding of IPv4 packets that arrive on the interface, independent of firewall rules. @throws the kernel's refusal. */
  close(name: string): Promise<void>;
  /** Restores the machine's setting: Docker's published ports need it. Does nothing when the interface is gone. */
  restore(name: string): Promise<void>;
};

/** `net.ipv4.conf.<interface>.forwarding` (kernel documentation, ip-sysctl): decides about packets received on that interface. */
export function createForwarding(proc: string): Forwarding {
  const file = (name: string): string => join(proc, 'sys/net/ipv4/conf', name, 'forwarding');
  return {
    close: (name) => writeFile(file(name), '0\n'),
    restore: async (name) => {
      // A name from a file must not point to another path.
      if (!/^[A-Za-z0-9_-][A-Za-z0-9_.:-]{0,14}$/.test(name)) return;
      const machine = await content(join(proc, 'sys/net/ipv4/ip_forward'));
      if (machine !== '' && (await isThere(file(name)))) await writeFile(file(name), `${machine}\n`);
    },
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Read by the dnsmasq of NetworkManager's shared mode; the folder must exist when it starts. */
export const sharedDnsmasqFolder = '/etc/NetworkManager/dnsmasq-shared.d';

/**
 * Configuration of the hotspot's dnsmasq (2.90, dnsmasq(8)): every name is the station, so that each probe of a phone reaches the
 * setup page. `local` answers any other query (AAAA, HTTPS) at once with "no such record": unanswered or refused queries
 * would let phones wait and ask elsewhere. Name servers of an earlier network are not used. `no-ping` gives
 * out addresses at once. No DHCP option 114: RFC 8908 requires https with a certificate that phones trust.
 */
const dnsAnswers = (address: string, interfaceName: string): string =>
  [`${interfaceMark}${interfaceName}`, `address=/#/${address}`, 'local=/#/', 'no-resolv', 'no-ping', ''].join('\n');

const interfaceMark = '# Written by the station agent while its hotspot is up on ';

export type DnsAnswers = {
  write(address: string, interfaceName: string): Promise<void>;
  /** Interface of the hotspot that the file was written for; null: no file. */
  interfaceName(): Promise<string | null>;
  remove(): Promise<void>;
};

/** After a crash the file also records that a hotspot was started and must be undone, and on which interface. */
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

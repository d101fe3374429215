import type { Machine } from './machine.ts';

/** Everything on a machine that an installation could leave behind, one fact a line. */
export type Inventory = {
  /** Type, mode, owner and, of regular files, checksum. */
  files: Map<string, string>;
  /** Installed packages, and those whose settings are left. */
  packages: string[];
  accounts: string[];
  units: string[];
  /** Containers, images, volumes and networks; empty without Docker. */
  docker: string[];
  hostName: string;
};

/**
 * Not part of it: what is not on the disk, logs, the temporary folder, what apt and dpkg keep for themselves, and the data of Docker
 * (which {@link Inventory.docker} lists).
 */
const left = [
  '/tmp',
  '/var/tmp',
  '/var/log',
  '/var/lib/apt',
  '/var/cache/apt',
  '/var/cache/debconf',
  '/var/lib/dpkg',
  '/root',
  '/var/lib/docker',
  '/var/lib/containerd',
  '/var/lib/systemd',
  '/var/cache/ldconfig',
  '/lost+found',
];
/** Accounts are compared by name. */
const generated = [
  '/etc/ld.so.cache',
  '/etc/resolv.conf',
  '/etc/passwd',
  '/etc/group',
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/passwd-',
  '/etc/group-',
  '/etc/shadow-',
  '/etc/gshadow-',
  '/etc/subuid-',
  '/etc/subgid-',
];

const timeoutMs = 300_000;

export async function takeInventory(machine: Machine): Promise<Inventory> {
  const pruned = [...left, ...generated].map((path) => `-path ${path}`).join(' -o ');
  const find = `find / -xdev \\( ${pruned} \\) -prune -o`;
  const facts = await machine.must(`${find} -printf '%p\\t%y %m %u:%g %l\\n' | sort`, { timeoutMs });
  // Many files for each process: one for each takes minutes.
  const sums = await machine.must(`${find} -type f -exec sha256sum {} + | sort`, { timeoutMs });
  const files = new Map(facts.split('\n').map((line) => line.split('\t') as [string, string]));
  for (const [, sum = '', path = ''] of sums.matchAll(/^(\w+) {2}(.+)$/gm)) {
    files.set(path, `${files.get(path) ?? ''}${sum}`);
  }
  const lines = async (command: string): Promise<string[]> =>
    (await machine.must(command)).split('\n').filter((line) => line !== '');
  return {
    files,
    packages: await lines(`dpkg-query -W -f '\${Package} \${db:Status-Status}\\n' | sort`),
    accounts: await lines(
      `{ cut -d: -f1 /etc/passwd | sed 's/^/user /'; cut -d: -f1,4 /etc/group | sed 's/^/group /'; } | sort`,
    ),
    units: await lines(`systemctl list-unit-files --no-legend --no-pager | awk '{ print $1, $2 }' | sort`),
    docker: await lines(`command -v docker >/dev/null || exit 0
      docker ps --all --format 'container {{.Names}} {{.Image}} {{.State}}'
      docker images --all --no-trunc --format 'image {{.Repository}}:{{.Tag}} {{.ID}}' | sort -u
      docker volume ls --format 'volume {{.Name}}'
      docker network ls --format 'network {{.Name}}'`),
    hostName: await machine.must('hostname; cat /etc/hostname'),
  };
}

/** What differs, each line with `-` (was there) or `+` (is new). */
export function compareInventories(before: Inventory, after: Inventory): string[] {
  const pathsOf = ({ files }: Inventory): string[] => [...files].map(([path, facts]) => `${path} ${facts}`);
  const parts: [string[], string[]][] = [
    [pathsOf(before), pathsOf(after)],
    [before.packages, after.packages],
    [before.accounts, after.accounts],
    [before.units, after.units],
    [before.docker, after.docker],
    [[before.hostName], [after.hostName]],
  ];
  return parts.flatMap(([old, present]) => {
    const was = new Set(old);
    const is = new Set(present);
    return [
      ...old.filter((line) => !is.has(line)).map((line) => `- ${line}`),
      ...present.filter((line) => !was.has(line)).map((line) => `+ ${line}`),
    ];
  });
}

import { readdir, readFile, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { tryRun, waitFor } from './program.ts';

/** What is left of a test run on the machine. Empty lists: nothing. */
export type Leftovers = {
  processes: { pid: number; command: string }[];
  mounts: string[];
  interfaces: string[];
  cgroups: string[];
  /** Rules of the packet filter, as arguments after `iptables -A`. */
  filterRules: string[];
};

/** Name of the workspace at `folder` for places that cannot hold a path: control groups, comments of filter rules. */
export const labelOf = (folder: string): string => basename(folder);

/** First letters of the interfaces of the workspace at `folder` that are not an engine's. With at most three more it is a legal name. */
export const interfacePrefixOf = (folder: string): string => `st${labelOf(folder).slice(-6)}`;

/** File in a workspace that holds the address range of its engine's bridges, as a prefix such as `10.219.`. */
export const bridgePrefixFile = 'bridge-prefix';

/** Looks for processes, mounts, network interfaces, control groups and filter rules that belong to the workspace at `folder`. */
export async function findLeftovers(folder: string): Promise<Leftovers> {
  return {
    processes: await processesOf(folder),
    mounts: await mountsBelow(folder),
    interfaces: [...(await bridgesOf(folder)), ...(await ownInterfacesOf(folder))],
    cgroups: await cgroupsOf(folder),
    filterRules: await filterRulesOf(folder),
  };
}

/** Ends and removes everything that {@link findLeftovers} returns. */
export async function removeLeftovers(folder: string): Promise<void> {
  const isFree = async (): Promise<boolean> => {
    const { processes, mounts, interfaces, cgroups, filterRules } = await findLeftovers(folder);
    for (const { pid } of processes) kill(pid);
    // A program with mounts of its own keeps a copy of those that it found, so the disk under one is busy until that program ends.
    const how = processes.length === 0 ? ['--detach-loop', '--lazy'] : ['--detach-loop'];
    for (const path of mounts) await tryRun('umount', [...how, path]);
    if (processes.length === 0) {
      for (const name of interfaces) await tryRun('ip', ['link', 'delete', name]);
      for (const path of cgroups) await rmdir(path).catch(() => undefined);
      for (const rule of filterRules) await tryRun('iptables', ['-w', '-D', ...rule.split(' ')]);
    }
    return [processes, mounts, interfaces, cgroups, filterRules].every((each) => each.length === 0);
  };
  await waitFor(`nothing of ${folder} to be left`, isFree);
}

/**
 * Processes that name the folder in their arguments (dockerd, containerd, shims, registry, …), those of its containers,
 * and all below them.
 */
async function processesOf(folder: string): Promise<Leftovers['processes']> {
  const all = new Map<number, { parent: number; command: string; contained: boolean }>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => null);
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => null);
    // A zombie has no command line and holds no resources.
    if (stat === null || command === null || command === '') continue;
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    const groups = await readFile(`/proc/${entry}/cgroup`, 'utf8').catch(() => '');
    const contained = groups.includes(`/${labelOf(folder)}/`);
    all.set(Number(entry), { parent, command: command.replaceAll('\0', ' ').trim(), contained });
  }
  const spared = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined; pid = all.get(pid)?.parent) spared.add(pid);
  const belongs = (pid: number, depth = 0): boolean => {
    const one = all.get(pid);
    if (one === undefined || spared.has(pid) || depth > 20) return false;
    return one.contained || one.command.includes(`${folder}/`) || belongs(one.parent, depth + 1);
  };
  return [...all]
    .filter(([pid]) => belongs(pid))
    .map(([pid, { command }]) => ({ pid, command: command.slice(0, 120) }));
}

/** Mount points at or below a folder, the innermost first (proc(5), mountinfo). */
async function mountsBelow(folder: string): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  const points = lines.map((line) => line.split(' ')[4] ?? '').filter((path) => path.startsWith(`${folder}/`));
  return points.reverse();
}

/** Control groups of the folder's containers in every hierarchy (v1 has one a controller), the innermost first. */
async function cgroupsOf(folder: string): Promise<string[]> {
  const root = '/sys/fs/cgroup';
  const found: string[] = [];
  for (const hierarchy of ['', ...(await readdir(root).catch(() => []))]) {
    const top = join(root, hierarchy, labelOf(folder));
    const below = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => null);
    if (below === null) continue;
    found.push(top, ...below.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name)));
  }
  return found.sort((a, b) => b.length - a.length);
}

/** Only an engine creates such rules; without one, iptables may not be installed. */
async function filterRulesOf(folder: string): Promise<string[]> {
  if ((await bridgePrefixOf(folder)) === null) return [];
  const label = labelOf(folder);
  const lines = (await tryRun('iptables', ['-w', '-S', 'FORWARD'])).stdout.split('\n');
  return lines.filter((line) => line.startsWith('-A ') && line.includes(label)).map((line) => line.slice('-A '.length));
}

async function bridgesOf(folder: string): Promise<string[]> {
  const prefix = await bridgePrefixOf(folder);
  if (prefix === null) return [];
  const listed = await tryRun('ip', ['-4', '-oneline', 'address', 'show']);
  return listed.stdout
    .split('\n')
    .map((line) => /^\d+: (\S+)\s+inet (\S+)/.exec(line))
    .filter((match) => match?.[2]?.startsWith(prefix) ?? false)
    .map((match) => match?.[1] as string);
}

async function ownInterfacesOf(folder: string): Promise<string[]> {
  const names = await readdir('/sys/class/net').catch(() => []);
  return names.filter((name) => name.startsWith(interfacePrefixOf(folder)));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

const bridgePrefixOf = (folder: string): Promise<string | null> =>
  readFile(join(folder, bridgePrefixFile), 'utf8').catch(() => null);

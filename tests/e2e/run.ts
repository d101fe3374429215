/**
 * `npm run e2e -- NAME…` runs `tests/e2e/NAME.test.ts`, or every `*.test.ts` in `tests/e2e/NAME/` and what `topics.ts` adds to
 * that name; without a name, all of them; `--list` names them. Several run at once: each has its own engines and ports, and mostly waits. What a part prints
 * comes when it ends; the last lines are totals.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { buildForTests, builtEnv } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { isInterrupted, printTotals, runTests, type TestRun } from '../rig/test-run.ts';
import { sweepWorkspaces } from '../rig/workspace.ts';
import { topics } from './topics.ts';

/** Files that run in one process: each on its own, but all stories that share a machine or an installed station together. */
type Part = { name: string; files: string[]; options: string[]; inside: string[] };

/** One virtual station runs at a time: a part that waits for it would only keep others from starting. */
const virtualStation = ['wifi', 'ble'];

const folder = import.meta.dirname;
const root = join(folder, '../..');
const sharingFolders = ['wifi', 'ble', 'install'];

/**
 * A network of its own, with loopback only. A browser breaks off what it is fetching when an interface of the machine comes or
 * goes, and the container engines of other parts make and remove some all the time.
 */
const ownNetwork = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const needsOwnNetwork = (name: string): boolean =>
  /^web($|[-/])|^backend\/browser$|^trust\/(crowd|web-page)$/.test(name);

/** Begun first, in this order, because they take longest. */
const longest = [
  ...[
    'wifi',
    'ble',
    'install',
    'devices/chaos',
    'replicas/replicas',
    'stack',
    'web-provisioning',
    'backend/restarts',
    'update-kill',
    'firmware/rollouts',
    'firmware/agent',
  ],
  ...['backend/postgres', 'backend/kills', 'cloud/process', 'npm-start', 'update/interrupted', 'update/releases'],
];

/** Name → its test files, relative to the repository. */
function findTests(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const files = entry.isDirectory()
      ? readdirSync(path).flatMap((name) => (name.endsWith('.test.ts') ? [join(path, name)] : []))
      : entry.name.endsWith('.test.ts')
        ? [path]
        : [];
    const name = entry.name.replace(/\.test\.ts$/, '');
    if (files.length > 0) found.set(name, [...(found.get(name) ?? []), ...files.map((file) => relative(root, file))]);
  }
  return new Map([...found].sort(([a], [b]) => a.localeCompare(b)));
}

/** The tests of a name: each file once, also when several names have it. */
function filesOf(names: readonly string[], all: ReadonlyMap<string, string[]>): string[] {
  const more = names.flatMap((name) => topics[name] ?? []).map((name) => `tests/e2e/${name}.test.ts`);
  return [...new Set([...names.flatMap((name) => all.get(name) ?? []), ...more])];
}

/** The longest parts first. */
function partsOf(files: readonly string[]): Part[] {
  const isIn = (file: string, name: string): boolean => file.startsWith(`tests/e2e/${name}/`);
  const others = files.filter((file) => !sharingFolders.some((name) => isIn(file, name)));
  const parts = others.map((file): Part => {
    const name = file.slice('tests/e2e/'.length, -'.test.ts'.length);
    return { name, files: [file], options: [], inside: needsOwnNetwork(name) ? ownNetwork : [] };
  });
  for (const name of sharingFolders) {
    const sharing = files.filter((file) => isIn(file, name));
    if (sharing.length > 0) parts.push({ name, files: sharing, options: ['--test-isolation=none'], inside: [] });
  }
  const rank = ({ name }: Part): number => (longest.includes(name) ? longest.indexOf(name) : longest.length);
  return parts.sort((a, b) => rank(a) - rank(b));
}

async function runParts(parts: readonly Part[], env: Record<string, string>): Promise<TestRun[]> {
  const queue = [...parts];
  const runs: TestRun[] = [];
  let isVirtualStationTaken = false;
  const next = (): Part | undefined => {
    const at = queue.findIndex(({ name }) => !(isVirtualStationTaken && virtualStation.includes(name)));
    return at < 0 ? undefined : queue.splice(at, 1)[0];
  };
  const work = async (): Promise<void> => {
    for (let part = next(); part !== undefined && !isInterrupted(); part = next()) {
      const isVirtual = virtualStation.includes(part.name);
      isVirtualStationTaken ||= isVirtual;
      const run = await runTests([...part.options, ...part.files], env, part.inside);
      if (isVirtual) isVirtualStationTaken = false;
      runs.push(run);
      const { pass, fail, cancelled } = run.totals;
      const ending = `${pass} passed, ${fail + cancelled} failed (${run.seconds.toFixed(0)} s)`;
      process.stdout.write(`\n${run.output}[${runs.length}/${parts.length}] ${part.name}: ${ending}\n`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, work));
  return runs;
}

async function main(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const all = findTests();
  const list = `End-to-end tests: ${[...all.keys()].join(', ')}\n`;
  if (args.includes('--list')) {
    process.stdout.write(list);
    return 0;
  }
  const unknown = args.filter((name) => !all.has(name));
  if (unknown.length > 0 || all.size === 0) {
    process.stderr.write(`There is no end-to-end test named ${unknown.join(', ')}. ${list}`);
    return 1;
  }
  if (args.length === 0) process.stdout.write(list);
  const parts = partsOf(args.length === 0 ? [...all.values()].flat() : filesOf(args, all));
  // Without the machine's network a part installs nothing.
  if (parts.some(({ inside }) => inside.length > 0)) await needPackages(['caddy', 'chromium', 'iproute2']);
  // Parts that run at the same time must not build into the same folder.
  if (parts.length > 1) await buildForTests('agent', 'agent-without-docker', 'backend', 'vstation-programs', 'web');
  const runs = await runParts(parts, parts.length > 1 ? builtEnv : {});
  await sweepWorkspaces();
  process.stdout.write('\n');
  return printTotals(runs, started);
}

process.exitCode = await main(process.argv.slice(2));

/**
 * `npm run e2e -- NAME…` runs the parts of that name or folder, and what a topic adds (`parts.ts`); without an argument, all of them.
 * `--gate` adds the parts of `.ci/run`, `--touched BASE` those that cover what changed since a commit; `--list` names the parts, and
 * `--prepare` only fetches what they need from the network. What a part prints comes when it ends. A part that failed runs once more,
 * alone; when it passes then, a line begins with FLAKY. The last lines are totals.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildForTests, builtEnv } from '../rig/build.ts';
import { composePlugin, needPackages, trixieDocker } from '../rig/debian.ts';
import { eximRoot } from '../rig/mail-server.ts';
import { prepareOldNpms } from '../rig/old-npm.ts';
import { runParts } from '../rig/parts-run.ts';
import { isInterrupted, printTotals, runTests, type TestRun } from '../rig/test-run.ts';
import { sweepWorkspaces } from '../rig/workspace.ts';
import { findStories, isWithin, parts, storiesOf, topics, type Part } from './parts.ts';

/** A part, and those of its stories that were asked for. */
type Chosen = { part: Part; stories: string[] };

const root = join(import.meta.dirname, '../..');
/** A part that takes longer hangs; it is ended. */
const gateMinutes = 10;
const fullMinutes = 100;

function readOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      gate: { type: 'boolean', default: false },
      touched: { type: 'string' },
      list: { type: 'boolean', default: false },
      prepare: { type: 'boolean', default: false },
    },
  });
  return { ...values, names: positionals };
}

/** Files that differ from a commit, also those that git does not know yet. @throws when git knows no such commit. */
function changedSince(base: string): string[] {
  const git = (...args: string[]): string[] => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr.trim());
    return stdout.split('\n').filter(Boolean);
  };
  return [...git('diff', '--name-only', base, '--'), ...git('ls-files', '--others', '--exclude-standard')];
}

function isTouched({ name, covers }: Part, changed: readonly string[]): boolean {
  const own = `tests/e2e/${name}`;
  return changed.some(
    (file) => isWithin(file.replace(/\.test\.ts$/, ''), own) || covers.some((place) => isWithin(file, place)),
  );
}

function choose(options: ReturnType<typeof readOptions>): Chosen[] {
  const stories = findStories();
  const names = [...options.names, ...options.names.flatMap((name) => topics[name] ?? [])];
  const isKnown = (name: string): boolean =>
    Object.hasOwn(topics, name) || stories.some((story) => isWithin(story, name));
  const unknown = names.filter((name) => !isKnown(name));
  if (unknown.length > 0) throw new Error(`there is no end-to-end test named ${unknown.join(', ')}`);
  const isEverything = names.length === 0 && !options.gate && options.touched === undefined;
  const changed = options.touched === undefined ? [] : changedSince(options.touched);
  return parts
    .map((part): Chosen => {
      const all = storiesOf(part, stories);
      const isWhole = isEverything || (options.gate && part.isGate) || isTouched(part, changed);
      const isNamed = (story: string): boolean => names.some((name) => isWithin(story, name));
      return { part, stories: isWhole ? all : all.filter(isNamed) };
    })
    .filter((chosen) => chosen.stories.length > 0);
}

/** Stories with the Docker of Debian 13. */
const onTrixieDocker = /^(rig|update\/(damaged-\w+|cut-pulls|power))$/;

/** Everything that comes over the network or is built: no test fetches anything. */
async function prepare(chosen: readonly Chosen[]): Promise<void> {
  if (chosen.some(({ part }) => part.place === 'own network')) await needPackages(['caddy', 'chromium', 'iproute2']);
  if (chosen.length > 1) await composePlugin();
  if (chosen.some(({ stories }) => stories.some((story) => onTrixieDocker.test(story)))) await trixieDocker();
  if (chosen.some(({ part }) => part.name === 'mail-servers')) await eximRoot();
  if (chosen.some(({ part }) => part.name === 'setup')) await prepareOldNpms(process.version.slice(1));
}

async function run({ part, stories }: Chosen, env: Record<string, string>): Promise<TestRun> {
  const isFolder = !stories.includes(part.name);
  // The stories of a folder share a machine or an installed station.
  const options = isFolder ? ['--test-isolation=none'] : [];
  const ownNetwork = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
  const finished = await runTests([...options, ...stories.map((story) => `tests/e2e/${story}.test.ts`)], env, {
    inside: part.place === 'own network' ? ownNetwork : [],
    limitMinutes: part.isGate ? gateMinutes : fullMinutes,
  });
  const { pass, fail, cancelled } = finished.totals;
  const ending = `${pass} passed, ${fail + cancelled} failed (${finished.seconds.toFixed(0)} s)`;
  process.stdout.write(`\n${finished.output}== ${part.name}: ${ending}\n`);
  return finished;
}

async function main(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const options = readOptions(args);
  const chosen = choose(options);
  const names = chosen.map(({ part }) => part.name);
  process.stdout.write(`End-to-end tests: ${names.length === 0 ? 'none' : names.join(', ')}\n`);
  if (options.list) return 0;
  await prepare(chosen);
  if (options.prepare) return 0;
  // Parts that run at the same time must not build into the same folder.
  if (chosen.length > 1) await buildForTests('agent', 'agent-without-docker', 'backend', 'vstation-programs', 'web');
  await sweepWorkspaces();
  const { runs, flakes } = await runParts(chosen, {
    // Most of what a part takes is waiting: for an engine, a timeout, a disk.
    lanes: availableParallelism() + 2,
    run: (one) => run(one, chosen.length > 1 ? builtEnv : {}),
    isExclusive: ({ part }) => part.place === 'virtual station',
    isInterrupted,
  });
  await sweepWorkspaces();
  process.stdout.write('\n');
  for (const { part, failures } of flakes) {
    process.stdout.write(`FLAKY ${part.part.name}: ${failures.join('; ') || 'it ended without totals'}\n`);
  }
  return chosen.length === 0 ? 0 : printTotals([...runs.values()], started);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`npm run e2e: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

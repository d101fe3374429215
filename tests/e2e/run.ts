/**
 * `npm run e2e -- NAME…` runs `tests/e2e/NAME.test.ts`, or every `*.test.ts` in `tests/e2e/NAME/`; without a name, all of
 * them, one file after another, and beside them those in the virtual station, whose output comes at the end, with totals of
 * its own. `--list` names them. The last lines are the totals of Node's test runner.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { sweepWorkspaces } from '../rig/workspace.ts';

const folder = import.meta.dirname;
const root = join(folder, '../..');

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

async function main(args: readonly string[]): Promise<number> {
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
  const files = args.length === 0 ? [...all.values()].flat() : args.flatMap((name) => all.get(name) ?? []);
  const [aside, first] = [files.filter(isInMachine), files.filter((file) => !isInMachine(file))];
  const [shown, kept] = first.length === 0 ? [aside, []] : [first, aside];
  const children = [startTests(shown, 'inherit'), ...(kept.length === 0 ? [] : [startTests(kept, 'pipe')])];
  // The tests get the signal too and clean up: wait for them.
  const forward = (name: NodeJS.Signals): void => children.forEach((child) => void child.kill(name));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, forward);
  const codes = await showInTurn(children);
  await sweepWorkspaces();
  return codes.every((code) => code === 0) ? 0 : 1;
}

/** A virtual machine has its network to itself, and its stories mostly wait. There is one at a time. */
const isInMachine = (file: string): boolean => file.startsWith('tests/e2e/wifi/');

function startTests(files: readonly string[], output: 'inherit' | 'pipe'): ChildProcess {
  const stdio = ['ignore', output, 'inherit'] as const;
  return spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], { cwd: root, stdio: [...stdio] });
}

/** Shows the output of the first while it runs, and then that of the next. @returns their exit codes. */
async function showInTurn(children: readonly ChildProcess[]): Promise<(number | null)[]> {
  const running = children.map(async ({ stdout }, index) => {
    const output = stdout === null ? null : text(stdout);
    const [code] = (await once(children[index] as ChildProcess, 'close')) as [number | null];
    return { code, output: (await output) ?? '' };
  });
  const codes: (number | null)[] = [];
  for (const each of running) {
    const { code, output } = await each;
    process.stdout.write(output);
    codes.push(code);
  }
  return codes;
}

process.exitCode = await main(process.argv.slice(2));

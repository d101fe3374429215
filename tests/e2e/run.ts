/**
 * `npm run e2e -- NAME…` runs `tests/e2e/NAME.test.ts`, or every `*.test.ts` in `tests/e2e/NAME/`; without a name, all of
 * them, one file after another. `--list` names them. The last lines are the totals of Node's test runner.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
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
  const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], { cwd: root, stdio: 'inherit' });
  // The tests get the signal too and clean up: wait for them.
  const forward = (name: NodeJS.Signals): void => void child.kill(name);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, forward);
  const [code] = (await once(child, 'exit')) as [number | null];
  await sweepWorkspaces();
  return code ?? 1;
}

process.exitCode = await main(process.argv.slice(2));

// npm run check: types, lint, format, unused code, architecture. All checks run, two at a time, so that one call shows all faults.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const root = join(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);

const checks: [string, string, string[]][] = [
  ['types and lint', bin('oxlint'), ['--type-aware', '--type-check', '--deny-warnings', '.']],
  ['format', bin('oxfmt'), ['--list-different']],
  ['unused files, exports and packages', bin('knip'), ['--no-progress', '--no-config-hints']],
  ['architecture', process.execPath, ['--test', '--test-reporter=dot', 'tests/architecture/*.test.ts']],
];

const queue = [...checks];
let failures = 0;

async function work(): Promise<void> {
  for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
    const [name, program, args] = check;
    const started = performance.now();
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    if (code !== 0) failures += 1;
    process.stdout.write(
      `${name}: ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)\n${code === 0 ? '' : output + errors}`,
    );
  }
}

await Promise.all([work(), work()]);
process.stdout.write(failures === 0 ? 'check: all passed\n' : `check: ${failures} failed\n`);
process.exitCode = failures === 0 ? 0 : 1;

// npm run check: types, lint, format, architecture. All of them run, so that one call shows every fault.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);

const checks: [string, string, string[]][] = [
  ['types', bin('tsc'), ['-p', '.']],
  ['types of the web app', bin('tsc'), ['-p', 'apps/web']],
  ['lint', bin('eslint'), ['--max-warnings', '0', '.']],
  ['format', bin('prettier'), ['--check', '--log-level', 'warn', '.']],
  ['architecture', process.execPath, ['--test', '--test-reporter=dot', 'tests/architecture/*.test.ts']],
];

let failures = 0;
for (const [index, [name, program, args]] of checks.entries()) {
  process.stdout.write(`[${index + 1}/${checks.length}] ${name} … `);
  const started = performance.now();
  const result = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (result.status === 0) {
    process.stdout.write(`ok (${seconds} s)\n`);
  } else {
    failures += 1;
    process.stdout.write(`FAILED (${seconds} s)\n${result.stdout}${result.stderr}\n`);
  }
}
process.stdout.write(failures === 0 ? 'check: all passed\n' : `check: ${failures} failed\n`);
process.exitCode = failures === 0 ? 0 : 1;

// Runs before every npm script, also on the machine's own older Node: plain JavaScript, no dependency.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const lock = readFileSync(join(root, 'package-lock.json'));
const wanted = createHash('sha256').update(lock).digest('hex');
const stamp = join(root, 'node_modules', '.station-setup');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('Setting up: installing the packages of package-lock.json (once).\n');
  const npm = process.env.npm_execpath;
  const [program, prefix] = npm ? [process.execPath, [npm]] : ['npm', []];
  // A clean install for a fresh clone; in a tree that is being worked in, only what changed.
  const command = existsSync(join(root, 'node_modules')) ? ['install', '--no-save'] : ['ci'];
  const result = spawnSync(program, [...prefix, ...command, '--no-fund', '--no-audit'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (result.status !== 0) {
    process.stderr.write('Setting up failed: npm did not succeed. Is a package registry reachable?\n');
    process.exit(result.status ?? 1);
  }
  writeFileSync(stamp, wanted);
}

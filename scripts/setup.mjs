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
  // Its warnings are about the machine's own Node, which only runs npm.
  // A clean install for a fresh clone; otherwise only the changes.
  const command = existsSync(join(root, 'node_modules')) ? ['install', '--no-save'] : ['ci'];
  const result = spawnSync(program, [...prefix, ...command, '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (result.status !== 0) {
    process.stderr.write('Setting up failed: npm did not succeed. Is a package registry reachable?\n');
    process.exit(result.status ?? 1);
  }
  if (!runs()) install('libatomic1');
  if (!runs()) {
    process.stderr.write(
      'Setting up failed: the Node 26 of node_modules does not start. It needs the package libatomic1.\n',
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

/** Whether the installed Node starts: a minimal system may lack a library. */
function runs() {
  return spawnSync(join(root, 'node_modules', '.bin', 'node'), ['--version']).status === 0;
}

/** Installs a Debian package if that needs no password. */
function install(name) {
  if (process.getuid?.() !== 0) return;
  process.stderr.write(`Setting up: installing the Debian package ${name}.\n`);
  const options = {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  spawnSync('apt-get', ['update', '-q'], options);
  spawnSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', name], options);
}

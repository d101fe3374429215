// npm run build [-- agent|backend|web …] [--arch x64|arm64]: what ships, into dist/.
// `agent-without-docker` is for tests and only built when it is named: the agent on the process engine.
//   dist/agent/station-agent   one executable (Node's single executable application)
//   dist/backend/station-backend.mjs   with files beside it that are loaded on demand
//   dist/web/   static files
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown, type Plugin } from 'rolldown';
import { smallerBundle } from './smaller-bundle.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const shipped = ['agent', 'backend', 'web'] as const;
const targets = [...shipped, 'agent-without-docker'] as const;
type Target = (typeof targets)[number];

const { values, positionals } = parseArgs({
  options: { arch: { type: 'string', default: process.arch } },
  allowPositionals: true,
});
const wanted = positionals.length === 0 ? [...shipped] : positionals.map(readTarget);

for (const [index, target] of wanted.entries()) {
  process.stdout.write(`[${index + 1}/${wanted.length}] ${target} … `);
  const started = performance.now();
  if (target === 'agent') await buildAgent('apps/agent/src/main.ts', target, values.arch);
  else if (target === 'agent-without-docker') await buildAgent('simulators/station/agent-main.ts', target, values.arch);
  else if (target === 'backend') await buildBackend();
  else run('npm', ['run', '--silent', 'build', '-w', '@station/web']);
  process.stdout.write(`ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}

function readTarget(text: string): Target {
  const target = targets.find((one) => one === text);
  if (target) return target;
  process.stderr.write(`build: no target "${text}"; there are ${targets.join(', ')}\n`);
  process.exit(2);
}

/** Bundles everything except Node's own modules into one ES module. */
async function bundle(input: string, file: string): Promise<void> {
  await using build = await openBundle(input);
  await build.write({ file, format: 'esm', codeSplitting: false, minify: { mangle: false }, sourcemap: false });
}

/**
 * Parts that are imported on demand (API reference, PostgreSQL) stay separate files: one file would need 26 MB more memory.
 * Unused modules are left out (`smaller-bundle.ts`).
 */
async function buildBackend(): Promise<void> {
  const dir = join(dist, 'backend');
  rmSync(dir, { recursive: true, force: true });
  await using build = await openBundle('apps/backend/src/main.ts', smallerBundle);
  await build.write({
    dir,
    format: 'esm',
    entryFileNames: 'station-backend.mjs',
    chunkFileNames: '[name]-[hash].mjs',
    minify: { mangle: false },
    sourcemap: false,
  });
}

function openBundle(input: string, plugins: Plugin[] = []): ReturnType<typeof rolldown> {
  return rolldown({
    input: join(root, input),
    plugins,
    platform: 'node',
    // Optional accelerators of libraries, which are not installed.
    // `node:http` may be replaced; all of Node’s own are left alone anyway.
    external: [/^node:(?!http$)/, 'pg-native', 'bufferutil', 'utf-8-validate'],
    logLevel: 'silent',
  });
}

/** One executable from a program's entry, into `dist/<target>/`. */
async function buildAgent(entry: string, target: Target, arch: string): Promise<void> {
  const output = join(dist, target);
  mkdirSync(output, { recursive: true });
  // Built in a temporary folder and then renamed, because two builds may run at the same time.
  const folder = mkdtempSync(join(dist, 'agent-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const main = join(folder, 'station-agent.mjs');
  await bundle(entry, main);
  const name = arch === process.arch ? 'station-agent' : `station-agent-${arch}`;
  const config = join(folder, 'sea.json');
  writeFileSync(
    config,
    JSON.stringify({
      main,
      mainFormat: 'module',
      output: join(folder, name),
      executable: runtimeOf(arch),
      disableExperimentalSEAWarning: true,
      useCodeCache: false,
      useSnapshot: false,
      // The agent runs for months: a small heap with frequent collections, instead of one that grows by tens of MiB.
      execArgv: ['--max-semi-space-size=1', '--optimize-for-size'],
    }),
  );
  run(process.execPath, ['--build-sea', config]);
  chmodSync(join(folder, name), 0o755);
  writeFileSync(join(folder, `${name}.sha256`), `${sha256(join(folder, name))}  ${name}\n`);
  for (const file of ['station-agent.mjs', name, `${name}.sha256`]) renameSync(join(folder, file), join(output, file));
}

/** The Node binary of an architecture: this one, or the one that its npm package carries. */
function runtimeOf(arch: string): string {
  if (arch === process.arch) return process.execPath;
  const version = process.versions.node;
  const cache = join(root, 'node_modules', '.cache', 'station', `node-linux-${arch}-${version}`);
  const binary = join(cache, 'package', 'bin', 'node');
  if (!existsSync(binary)) {
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(tmpdir(), 'station-runtime-'));
    run('npm', ['pack', '--silent', `node-linux-${arch}@${version}`, '--pack-destination', folder]);
    run('tar', ['-xzf', join(folder, `node-linux-${arch}-${version}.tgz`), '-C', cache]);
    rmSync(folder, { recursive: true });
  }
  return binary;
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function run(program: string, args: string[]): void {
  const result = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout}${result.stderr}\nbuild: ${program} ${args[0] ?? ''} failed\n`);
  process.exit(1);
}

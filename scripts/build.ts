// npm run build [-- agent|backend|web …] [--arch x64|arm64|all] [--version X] [--release]: what ships, into dist/.
// Two are for tests and only built when they are named: `agent-without-docker`, the agent on the process engine, and
// `vstation-programs`, what runs in the virtual station.
//   dist/agent/station-agent-linux-ARCH   one executable (Node's single executable application)
//   dist/backend/station-backend.mjs   with files beside it that are loaded on demand, station-ble-helper.mjs and the programs of its threads
//   dist/web/   static files
// --version is the agent's; without it, the one in apps/agent/src/version.ts. --release refuses what must not ship.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { architectures, agentFileName, buildAgent, openBundle, run, type Architecture } from './build-agent.ts';
import { smallerBackend } from './smaller-bundle.ts';

const dist = join(import.meta.dirname, '..', 'dist');
const shipped = ['agent', 'backend', 'web'] as const;
const targets = [...shipped, 'agent-without-docker', 'vstation-programs'] as const;
type Target = (typeof targets)[number];

const { values, positionals } = parseArgs({
  options: {
    arch: { type: 'string', default: process.arch },
    version: { type: 'string' },
    release: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const wanted = positionals.length === 0 ? [...shipped] : positionals.map(readTarget);
const wantedArchitectures = values.arch === 'all' ? architectures : [readArchitecture(values.arch)];

for (const [index, target] of wanted.entries()) {
  process.stdout.write(`[${index + 1}/${wanted.length}] ${target} … `);
  const started = performance.now();
  if (target === 'agent') await buildAgents('apps/agent/src/main.ts', target);
  else if (target === 'agent-without-docker') await buildAgents('simulators/station/agent-main.ts', target);
  else if (target === 'backend') await buildBackend();
  else if (target === 'vstation-programs') await buildProgramsOfVstation(target);
  else run('npm', ['run', '--silent', 'build', '-w', '@station/web']);
  process.stdout.write(`ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}

function readTarget(text: string): Target {
  const target = targets.find((one) => one === text);
  return target ?? refuse(`no target "${text}"; there are ${targets.join(', ')}`);
}

function readArchitecture(text: string): Architecture {
  const found = architectures.find((one) => one === text);
  return found ?? refuse(`no architecture "${text}"; there are ${architectures.join(', ')}, all`);
}

async function buildAgents(entry: string, target: Target): Promise<void> {
  for (const arch of wantedArchitectures) {
    const version = values.version ?? null;
    const { stripped } = await buildAgent({ entry, output: join(dist, target), arch, version });
    if (stripped) continue;
    const problem = `${agentFileName(arch)} keeps its symbols (35 MB): install binutils for ${arch}, or llvm`;
    if (values.release) refuse(problem);
    process.stdout.write(`${problem} … `);
  }
}

/**
 * Parts that are imported on demand (API reference, PostgreSQL) stay separate files: one file would need 26 MB more memory.
 * Unused modules are left out (`smaller-bundle.ts`).
 */
async function buildBackend(): Promise<void> {
  const dir = join(dist, 'backend');
  rmSync(dir, { recursive: true, force: true });
  const output = { format: 'esm', minify: { mangle: false }, sourcemap: false } as const;
  await using build = await openBundle('apps/backend/src/main.ts', smallerBackend);
  const chunkFileNames = '[name]-[hash].mjs';
  await build.write({ ...output, dir, entryFileNames: 'station-backend.mjs', chunkFileNames });
  for (const [entry, name] of [
    ['apps/ble-helper/src/main.ts', 'station-ble-helper.mjs'],
    ['apps/backend/src/core/adapters/database-snapshot-thread.ts', 'station-snapshot.mjs'],
    ['apps/backend/src/large-reads-thread.ts', 'station-large-reads.mjs'],
    ['apps/backend/src/passwords-thread.ts', 'station-passwords.mjs'],
  ] as const) {
    await using more = await openBundle(entry, smallerBackend);
    await more.write({ ...output, file: join(dir, name), codeSplitting: false });
  }
}

async function buildProgramsOfVstation(target: Target): Promise<void> {
  for (const name of ['peripheral', 'twin', 'browser']) {
    await using build = await openBundle(`tests/vstation/programs/${name}.ts`);
    await build.write({ file: join(dist, target, `${name}.mjs`), format: 'esm' });
  }
}

function refuse(problem: string): never {
  process.stderr.write(`build: ${problem}\n`);
  process.exit(2);
}

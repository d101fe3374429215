import assert from 'node:assert/strict';
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const root = join(import.meta.dirname, '..', '..');

async function findFaults(folders: string[], other: ICruiseOptions = {}) {
  process.chdir(root);
  const options = await extractOptions('./.dependency-cruiser.mjs');
  const { output } = await cruise(folders, { ...options, ...other, validate: true });
  const { summary, modules } = output as ICruiseResult;
  return { modules, faults: summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`) };
}

test('every import follows the arrows between the rooms', async () => {
  const { modules, faults } = await findFaults(['packages', 'apps', 'simulators', 'tests']);
  // A cruise that understands nothing finds no fault either.
  const own = modules.filter((module) => /\.tsx?$/.test(module.source) && !module.source.includes('node_modules'));
  assert.ok(own.length > 600, `saw only ${own.length} modules`);
  assert.ok(own.filter((module) => module.dependencies.length > 0).length > 400, 'saw hardly any import');
  assert.deepEqual(faults, []);
});

/** A file of an app, what it imports, and the walls that it breaks (the begin of their names). */
type Planted = readonly (readonly [file: string, imports: string, walls: readonly string[]])[];

const inAgent: Planted = [
  ['stack/a.ts', '../core/adapters/http-client.ts', ['agent: only adapters and the composition root']],
  ['stack/b.ts', './adapters/engine.ts', ['agent: only adapters and the composition root']],
  ['core/a.ts', './adapters/http-client.ts', ['agent: only adapters and the composition root']],
  ['stack/c.ts', '../wifi/wifi-ports.ts', ['agent: stack imports core']],
  ['stack/adapters/d.ts', '../../wifi/adapters/radio.ts', ['agent: an adapter imports', 'agent: stack imports core']],
  ['stack/adapters/e.ts', '../b.ts', ['agent: an adapter imports']],
  ['stack/adapters/docker/f.ts', '../../stack-ports.ts', []],
  ['stack/adapters/docker/g.ts', '../../../core/adapters/http-client.ts', []],
  ['core/adapters/h.ts', '../../stack/stack-ports.ts', ['agent: an adapter imports', 'agent: core imports no']],
  ['stack/i.ts', 'node:net', ['only-adapters-touch-the-host']],
  ['stack/j.ts', 'radio-library', ['agent: only adapters import packages']],
  ['stack/n.ts', 'node:timers/promises', ['agent: only adapters and the kit']],
  ['agent.ts', 'node:net', ['only-adapters-touch-the-host']],
  ['stack/adapters/k.ts', 'node:net', []],
  ['stack/adapters/l.ts', 'radio-library', []],
  ['stack/o.ts', '../../../../packages/kit/src/command.ts', ['agent: only adapters start programs']],
  ['stack/adapters/p.ts', '../../../../../packages/kit/src/command.ts', []],
  ['version.ts', './agent.ts', ['agent: version.ts imports only root files']],
  ['wifi-duty.ts', './stack/b.ts', []],
  ['config.ts', './stack/b.ts', ['agent: start and configuration']],
  ['variables.ts', './core/a.ts', []],
  ['extra.ts', './config.ts', ['agent: every file in the root']],
  ['stack/m-decide.ts', '../core/adapters/http-client.ts', ['agent: only adapters and', 'decisions-know-no-clock']],
];
const ofAgent = [
  'core/adapters/http-client',
  'stack/adapters/engine',
  'stack/stack-ports',
  'wifi/adapters/radio',
  'wifi/wifi-ports',
];

const inBackend: Planted = [
  ['cloud/a.ts', './adapters/cloud-socket.ts', []],
  ['cloud/b.ts', '../core/adapters/sqlite.ts', []],
  ['cloud/c.ts', '../store/adapters/file-size.ts', ['backend: a room imports its own']],
  ['cloud/d.ts', '../store/database.ts', []],
  ['cloud/e.ts', '../backup/adapters/folder.ts', ['backend: a room imports its own', 'backend: cloud imports']],
  ['store/a.ts', '../cloud/adapters/cloud-socket.ts', ['backend: a room imports its own', 'backend: store imports']],
  ['core/a.ts', './adapters/sqlite.ts', ['backend: core imports no adapter']],
  ['cloud/adapters/f.ts', './cloud-socket.ts', []],
  ['cloud/adapters/g.ts', '../cloud-ports.ts', []],
  ['cloud/adapters/h.ts', '../a.ts', ['backend: an adapter imports']],
  ['cloud/adapters/i.ts', '../../core/adapters/sqlite.ts', []],
  ['cloud/adapters/j.ts', '../../store/database.ts', ['backend: an adapter imports']],
  ['core/adapters/k.ts', '../../store/database.ts', ['backend: an adapter imports', 'backend: core imports no other']],
  ['cloud/l.ts', 'node:net', ['only-adapters-touch-the-host']],
  ['backend-extra.ts', 'node:net', ['only-adapters-touch-the-host']],
  ['cloud/adapters/m.ts', 'node:net', []],
  ['cloud/n.ts', '../../../../packages/kit/src/command.ts', ['backend: only adapters start programs']],
  ['cloud/adapters/o.ts', '../../../../../packages/kit/src/command.ts', []],
  ['backend.ts', './cloud/adapters/cloud-socket.ts', []],
  ['mqtt/r.ts', 'mqtt', ['backend: only adapters and the root import network']],
  ['http/s.ts', '@fastify/cookie', ['backend: only adapters and the root import network']],
  ['mqtt/adapters/t.ts', 'mqtt', []],
  ['backend-library.ts', 'mqtt', []],
  ['mqtt/u.ts', 'node:timers/promises', ['backend: only adapters, the root and the kit']],
  ['mqtt/adapters/v.ts', 'node:timers/promises', []],
  ['backend-timer.ts', 'node:timers/promises', []],
  ['cloud/p-decide.ts', './adapters/cloud-socket.ts', ['decisions-know-no-clock']],
  ['adapters/q.ts', './cloud-socket.ts', ['backend: every folder is a room']],
];
const ofBackend = [
  'adapters/cloud-socket',
  'backup/adapters/folder',
  'cloud/adapters/cloud-socket',
  'cloud/cloud-ports',
  'core/adapters/sqlite',
  'store/adapters/file-size',
  'store/database',
];

test('the walls of the agent find what is planted', () => findPlanted('agent', inAgent, ofAgent));

test('the walls of the backend find what is planted', () => findPlanted('backend', inBackend, ofBackend));

/** @param imported files without a fault, which those that are planted import. */
async function findPlanted(app: string, planted: Planted, imported: readonly string[]): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'station-walls-'));
  const write = (path: string, text: string): void => {
    const whole = join(folder.path, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, text);
  };
  write('tsconfig.json', '{}');
  for (const name of ['radio-library', 'mqtt', '@fastify/cookie']) {
    write(`node_modules/${name}/package.json`, `{ "name": "${name}", "main": "index.js" }`);
    write(`node_modules/${name}/index.js`, 'exports.found = 1;');
  }
  write('packages/kit/src/command.ts', 'export const found = 1;');
  for (const name of imported) write(`apps/${app}/src/${name}.ts`, 'export const found = 1;');
  for (const [file, imports] of planted)
    write(`apps/${app}/src/${file}`, `import { found } from '${imports}';\nexport const b = found;`);
  const { faults } = await findFaults(['apps'], { baseDir: folder.path });
  for (const [file, imports, walls] of planted) {
    const found = faults.filter((fault) => fault.includes(`: apps/${app}/src/${file} →`)).toSorted();
    assert.equal(found.length, walls.length, `${file} → ${imports}: ${found.join('; ')}`);
    for (const [index, wall] of walls.entries()) assert.ok(found[index]?.startsWith(wall), `${file}: ${found[index]}`);
  }
}

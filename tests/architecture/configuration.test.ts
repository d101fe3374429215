import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { backendVariables } from '@station/backend/variables';
import { generateFiles, root } from '../../scripts/generated-files.ts';
import { fixedInCompose, stackVariables } from '../../scripts/stack-variables.ts';

const composeFile = await readFile(join(root, 'deploy/docker-compose.yml'), 'utf8');
const used = new Set([...composeFile.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name ?? ''));

test('the generated files are up to date (npm run generate)', async () => {
  for (const [path, content] of Object.entries(await generateFiles())) {
    assert.equal(await readFile(join(root, path), 'utf8'), content, path);
  }
});

test('the compose file passes every variable of the backend, or fixes it', () => {
  const { services } = parse(composeFile) as { services: { backend: { environment: Record<string, string> } } };
  const { environment } = services.backend;
  const isPassed = (name: string): boolean => String(environment[name] ?? '').includes(`\${${name}:`);
  const notPassed = Object.keys(backendVariables).filter((name) => !isPassed(name));
  assert.deepEqual(notPassed.sort(), [...fixedInCompose].sort());
});

test('the example of the stack lists what the compose file uses, and nothing else', () => {
  // Compose itself reads this one.
  const own = ['COMPOSE_PROFILES'];
  assert.deepEqual([...used, ...own].sort(), Object.keys(stackVariables).sort());
});

import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBackendReport } from './backend-container.ts';

test('what a hijacked backend says in place of a report of its doctor is not believed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'backend-container-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = join(folder, 'docker');
  const check = { id: 'database', title: 'Database', status: 'ok', detail: null, findings: [] };
  const report = {
    program: 'backend',
    version: '1.0.0',
    at: '2026-01-01T00:00:00.000Z',
    status: 'ok',
    checks: [check],
  };
  for (const [said, isBelieved] of [
    [report, true],
    [{ ...report, checks: null }, false],
    [{ ...report, checks: [{ ...check, findings: [null] }] }, false],
    [{ ...report, status: 'constructor' }, false],
    [{}, false],
  ] as const) {
    await writeFile(program, `#!/bin/sh\necho '${JSON.stringify(said)}'\n`);
    await chmod(program, 0o755);
    const answer = await readBackendReport({ program, name: 'backend', env: { PATH: '/usr/bin:/bin' } });
    assert.deepEqual(answer, isBelieved ? { report } : { failure: 'what it says is no report of its doctor' });
  }
});

import assert from 'node:assert/strict';
import { access, constants, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.github/workflows');

type Step = { uses?: string; run?: string; with?: Record<string, unknown> };
type Job = {
  permissions?: Record<string, string>;
  'timeout-minutes'?: number;
  environment?: string;
  steps: Step[];
};
type Workflow = { on: Record<string, { tags?: string[] } | null>; permissions: unknown; jobs: Record<string, Job> };

const names = (await readdir(folder)).sort();
const workflows = new Map<string, Workflow>();
for (const name of names) workflows.set(name, parse(await readFile(join(folder, name), 'utf8')) as Workflow);
const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object };

test('there is a workflow for changes, for each night, for releases and for releases of the agent', () => {
  assert.deepEqual(names, ['ci.yml', 'full.yml', 'release-agent.yml', 'release-stack.yml']);
  assert.ok('schedule' in (workflows.get('full.yml')?.on ?? {}));
  assert.deepEqual(workflows.get('release-stack.yml')?.on['push']?.tags, ['v*']);
  assert.deepEqual(workflows.get('release-agent.yml')?.on['push']?.tags, ['agent-v*']);
});

for (const [name, { permissions, jobs }] of workflows) {
  test(`${name} may only read, except where a job says more`, () => {
    assert.deepEqual(permissions, { contents: 'read' });
    for (const [job, { environment, ...rest }] of Object.entries(jobs)) {
      assert.ok((rest['timeout-minutes'] ?? 0) > 0, `${job} has no time limit`);
      const more = Object.entries(rest.permissions ?? {}).filter(([, right]) => right === 'write');
      // The environment is what an owner can protect by approval.
      assert.ok(more.length === 0 || environment === 'release', `${job} may write outside of the release environment`);
    }
  });

  test(`${name} calls programs that exist, and actions of a fixed version`, async () => {
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    assert.ok(steps.length > 0);
    for (const { uses, run = '' } of steps) {
      if (uses !== undefined) assert.match(uses, /^actions\/[a-z-]+@(v\d+|[0-9a-f]{40})$/);
      for (const [, script = ''] of run.matchAll(/npm run ([\w:-]+)/g)) assert.ok(script in scripts, script);
      for (const [path] of run.matchAll(/(?<=^|\s)\.(?:ci|github)\/[\w-]+/g)) {
        await access(join(root, path), constants.X_OK);
      }
      // Text of people (titles, branch names) must never become part of a command.
      assert.doesNotMatch(run, /\$\{\{/);
    }
  });

  test(`${name} leaves no token in the checkout`, () => {
    const checkouts = Object.values(jobs).flatMap((job) =>
      job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout')),
    );
    assert.ok(checkouts.length > 0);
    for (const step of checkouts) assert.equal(step.with?.['persist-credentials'], false);
  });
}

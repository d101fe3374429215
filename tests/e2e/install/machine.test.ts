import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { exists } from '@station/kit/durable-files';
import { findLeftovers } from '../../rig/leftovers.ts';
import { run } from '../../rig/program.ts';
import { createWorkspace, sweepWorkspaces } from '../../rig/workspace.ts';
import { createSurroundings } from '../../station-machine/surroundings.ts';

test('a power cut loses what was not flushed, and nothing else', async () => {
  await using workspace = await createWorkspace();
  const { bareDisk, start } = await createSurroundings(workspace);
  const before = await start(await bareDisk());
  await before.must(`mkdir /cut && sync
    for i in $(seq 20); do
      echo "$i" >/cut/flushed-$i && sync /cut/flushed-$i
      echo "$i" >/cut/unflushed-$i
    done
    sync /cut/flushed-20 && echo late >/cut/late && mkdir /cut/late-folder`);
  const after = await start(await before.cutPower());
  const kept = (await after.must('cat $(ls -v /cut/flushed-*)')).split('\n');
  assert.deepEqual(
    kept,
    Array.from({ length: 20 }, (_, index) => `${index + 1}`),
  );
  // Data of the last unflushed file was in no flush; names of the others may be in the journal of the file system, their data is not.
  assert.deepEqual(
    (await after.must('ls /cut')).split('\n').filter((name) => name.startsWith('late')),
    [],
  );
  assert.match(
    await after.journal({ args: '--list-boots' }),
    /^\s*-1 .*\n\s*0 /m,
    'the journal of before the cut is there',
  );
  assert.equal(await after.must('systemctl is-system-running'), 'running');
});

test('a machine shuts down in order with all that it wrote', async () => {
  await using workspace = await createWorkspace();
  const { bareDisk, start } = await createSurroundings(workspace);
  const before = await start(await bareDisk());
  await before.must('echo kept >/root/unflushed');
  const after = await start(await before.powerOff());
  assert.equal(await after.readFile('/root/unflushed'), 'kept\n');
});

test('a test that is killed leaves no part of its machine behind', async () => {
  const program = join(import.meta.dirname, '../../station-machine/hold-a-machine.ts');
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [folder] = (await once(createInterface(child.stdout), 'line')) as [string];
  const inUse = await findLeftovers(folder);
  assert.match(inUse.processes.map((each) => each.command).join('\n'), /systemd-nspawn[^]*systemd-journald/);
  assert.ok(inUse.mounts.length > 0 && inUse.cgroups.length > 0);
  assert.equal(inUse.interfaces.length, 2, 'the switch and the cable of the machine');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await sweepWorkspaces();
  assert.equal(await exists(folder), false);
  const facts = await Promise.all([
    readFile('/proc/self/mountinfo', 'utf8'),
    run('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE']),
    run('ip', ['-oneline', 'link', 'show']),
  ]);
  for (const fact of facts)
    assert.ok(!fact.includes(folder) && !inUse.interfaces.some((name) => fact.includes(name)), fact);
  for (const path of inUse.cgroups) assert.equal(await exists(path), false, `${path} is left`);
});

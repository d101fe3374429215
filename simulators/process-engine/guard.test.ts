import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startGuarded } from './guard.ts';
import { eventually, isAlive } from './test-bench.ts';

const node = (code: string, graceMs = 60_000) =>
  startGuarded(process.execPath, ['-e', code], { env: { GIVEN: 'yes' }, graceMs });

const forever = 'setInterval(() => {}, 1000);';

describe('a guarded process', () => {
  it('gets the given environment and nothing else', async () => {
    await using child = await node('console.log(JSON.stringify(process.env))');
    assert.deepEqual(JSON.parse(await text(child.stdout)), { GIVEN: 'yes' });
  });

  it('reports its exit code, also after a signal and for a missing program', async () => {
    await using own = await node('process.exit(7)');
    assert.equal(await own.ended, 7);
    await using killed = await node('process.kill(process.pid, "SIGKILL")');
    assert.equal(await killed.ended, 137);
    await using absent = await startGuarded('/nowhere/at-all', [], { env: {} });
    assert.equal(await absent.ended, 127);
  });

  it('may end regularly when it is stopped', async () => {
    await using child = await node(`process.on('SIGTERM', () => process.exit(3)); console.log('up'); ${forever}`);
    await once(child.stdout, 'data');
    await child.stop();
    assert.equal(await child.ended, 3);
  });

  it('is killed when it does not end within the grace time', async () => {
    await using child = await node(`process.on('SIGTERM', () => {}); console.log(process.pid); ${forever}`);
    const [pid] = (await once(child.stdout, 'data')) as [Buffer];
    await child.stop(200);
    assert.equal(await isAlive(Number(pid)), false);
  });

  it('ends together with its own child processes', async () => {
    await using child = await node(
      `const { spawn } = require('node:child_process');
       process.once('SIGUSR2', () => process.exit(0));
       const { pid } = spawn(process.execPath, ['-e', '${forever}'], { stdio: 'ignore' });
       console.log(process.pid, pid);`,
    );
    const [pids] = (await once(child.stdout, 'data')) as [Buffer];
    const [own = 0, grandchild = 0] = pids.toString().split(' ').map(Number);
    assert.equal(await isAlive(grandchild), true);
    process.kill(own, 'SIGUSR2');
    assert.equal(await child.ended, 0);
    await eventually('the end of the grandchild', async () => !(await isAlive(grandchild)) || null);
  });

  it('ends when its guard is killed', async () => {
    await using child = await node(`console.log(process.pid); ${forever}`);
    const [pid] = (await once(child.stdout, 'data')) as [Buffer];
    process.kill(child.pid, 'SIGKILL');
    assert.equal(await child.ended, 137);
    await eventually('the end of the program', async () => !(await isAlive(Number(pid))) || null);
  });
});

describe('a parent that is killed with SIGKILL', () => {
  /** Starts a parent that guards a child, in its own process. It prints the child's process id. */
  const startParent = async (childCode: string) => {
    const code = `
      const { startGuarded } = await import(${JSON.stringify(join(import.meta.dirname, 'guard.ts'))});
      const child = await startGuarded(process.execPath, ['-e', ${JSON.stringify(childCode)}], { env: {}, graceMs: 500 });
      child.stdout.pipe(process.stdout);`;
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(parent.stdout);
    const [line] = (await once(lines, 'line')) as [string];
    return { parent, childPid: Number(line) };
  };

  for (const [how, childCode] of [
    ['a child that ends on SIGTERM', `console.log(process.pid); ${forever}`],
    ['a child that ignores SIGTERM', `process.on('SIGTERM', () => {}); console.log(process.pid); ${forever}`],
  ] as const) {
    it(`leaves nothing behind: ${how}`, async () => {
      const { parent, childPid } = await startParent(childCode);
      assert.equal(await isAlive(childPid), true);
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      await eventually('the end of the child', async () => !(await isAlive(childPid)) || null);
    });
  }
});

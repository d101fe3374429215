import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runCommand } from './command.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const shell = (script: string, options: Partial<Parameters<typeof runCommand>[2]> = {}) =>
  runCommand('sh', ['-c', script], { env, ...options });

/** Runs a script until it has written the ids of its processes, then aborts it. Returns those ids. */
async function runUntilAborted(script: string): Promise<{ pids: number[]; error: unknown }> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-command-'));
  const controller = new AbortController();
  const reason = new Error('stop requested');
  try {
    const running = shell(script, { cwd: folder, abort: controller.signal }).catch((error: unknown) => error);
    let text = '';
    while (!text.endsWith('done\n')) {
      text = await readFile(join(folder, 'pids'), 'utf8').catch(() => '');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    controller.abort(reason);
    const error = await running;
    assert.equal(error, reason);
    return { pids: text.trim().split('\n').slice(0, -1).map(Number), error };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Polls, because an ended process exists until its parent has reaped it. */
async function ended(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 6_000; tries += 1) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat === null || /\) [ZX] /.test(stat)) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

describe('runCommand', () => {
  it('returns the exit code and both streams', async () => {
    assert.deepEqual(await shell('echo out; echo err >&2; exit 3'), {
      exitCode: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('returns the signal that ended it', async () => {
    const { exitCode, signal } = await shell('kill -9 $$');
    assert.deepEqual([exitCode, signal], [null, 'SIGKILL']);
  });

  it('passes arguments unchanged, without a shell', async () => {
    const { stdout } = await runCommand('printf', ['%s|', '$HOME; rm -rf x', "'"], { env });
    assert.equal(stdout, "$HOME; rm -rf x|'|");
  });

  it('passes the given environment and nothing else', async () => {
    process.env['KIT_COMMAND_TEST'] = 'inherited';
    try {
      const { stdout } = await runCommand('env', [], { env: { ...env, GIVEN: 'yes' } });
      assert.deepEqual(stdout.trim().split('\n').sort(), ['GIVEN=yes', `PATH=${env.PATH}`]);
    } finally {
      delete process.env['KIT_COMMAND_TEST'];
    }
  });

  it('writes the input, also to a program that does not read it', async () => {
    assert.equal((await shell('cat', { input: 'over standard input' })).stdout, 'over standard input');
    assert.equal((await shell('exit 0', { input: 'x'.repeat(1_000_000) })).exitCode, 0);
  });

  it('keeps the last 64 KiB of the output', async () => {
    const { stdout } = await shell('head -c 1000000 /dev/zero | tr "\\0" "x"; echo the end');
    assert.equal(stdout.length, 64 * 1024);
    assert.ok(stdout.endsWith('x'.repeat(100) + 'the end\n'));
  });

  it('rejects when the program does not exist', async () => {
    await assert.rejects(runCommand('no-such-program-anywhere', [], { env }), { code: 'ENOENT' });
  });

  it('does not start a program after its signal has aborted', async () => {
    const reason = new Error('too late');
    await assert.rejects(shell('exit 0', { abort: AbortSignal.abort(reason) }), reason);
  });
});

describe('an aborted command', () => {
  it('ends with all of its children', async () => {
    const { pids } = await runUntilAborted('sleep 300 & echo $! > pids; echo $$ >> pids; echo done >> pids; wait');
    assert.equal(pids.length, 2);
    for (const pid of pids) assert.ok(await ended(pid), `process ${pid} still exists`);
  });

  it('is killed when it ignores SIGTERM', async () => {
    const { pids } = await runUntilAborted(
      'trap "" TERM; echo $$ > pids; echo done >> pids; while :; do sleep 1; done',
    );
    for (const pid of pids) assert.ok(await ended(pid), `process ${pid} still exists`);
  });

  it('leaves no child behind that ignores SIGTERM and has closed its streams', async () => {
    const child = `sh -c 'trap "" TERM; echo $$ > pids; echo done >> pids; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null`;
    const { pids } = await runUntilAborted(`${child} & wait`);
    for (const pid of pids) assert.ok(await ended(pid), `process ${pid} still exists`);
  });

  it('does not wait for a detached process that holds the streams', async () => {
    const { pids } = await runUntilAborted(
      'setsid sh -c "echo \\$\\$ > pids; echo done >> pids; exec sleep 300" & wait',
    );
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    assert.equal(pids.length, 1);
  });
});

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';

const lifecycle = new URL('lifecycle.ts', import.meta.url).href;

/** A program of its own: signals belong to a whole process. It prints a line for each thing that happens. */
function startProgram(start: string): {
  child: ChildProcess;
  said: () => string;
  until: (line: string) => Promise<void>;
} {
  const source = `
    import { runUntilSignal } from ${JSON.stringify(lifecycle)};
    const say = (line) => process.stdout.write(line + '\\n');
    const alive = setInterval(() => undefined, 1000);
    process.exitCode = await runUntilSignal(async ({ signal, stop }) => { ${start} }).finally(() => clearInterval(alive));
    say('returned');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += `! ${chunk}`));
  return {
    child,
    said: () => text.trim().split('\n').join(', '),
    until: async (line) => {
      while (!text.includes(`${line}\n`)) await once(child.stdout, 'data');
    },
  };
}

const disposable = (body: string): string => `{ [Symbol.asyncDispose]: async () => { ${body} } }`;

describe('runUntilSignal', () => {
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    it(`disposes on ${name} and returns 0`, async () => {
      const { child, said, until } = startProgram(`
        signal.addEventListener('abort', () => say('stopping on ' + signal.reason.message));
        say('up'); return ${disposable("say('disposed')")};`);
      await until('up');
      child.kill(name);
      assert.deepEqual(await once(child, 'close'), [0, null]);
      assert.equal(said(), `up, stopping on ${name}, disposed, returned`);
    });
  }

  it('ends at once on a second signal', async () => {
    const { child, said, until } = startProgram(`
      say('up'); return ${disposable("say('disposing'); await new Promise(() => undefined);")};`);
    await until('up');
    child.kill('SIGTERM');
    await until('disposing');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [130, null]);
    assert.equal(said(), 'up, disposing');
  });

  it('ends with the exit code that the program chose', async () => {
    const { child, said } = startProgram(`setTimeout(() => stop(3), 1); return ${disposable("say('disposed')")};`);
    assert.deepEqual(await once(child, 'close'), [3, null]);
    assert.equal(said(), 'disposed, returned');
  });

  it('takes a start that the signal broke off for an end', async () => {
    const { child, said, until } = startProgram(`
      say('starting');
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));`);
    await until('starting');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [0, null]);
    assert.equal(said(), 'starting, returned');
  });

  it('throws what start throws', async () => {
    const { child, said } = startProgram(`throw new Error('no port');`);
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.match(said(), /Error: no port/);
  });
});

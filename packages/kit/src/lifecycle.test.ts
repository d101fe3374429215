import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';

const lifecycle = new URL('lifecycle.ts', import.meta.url).href;

/** Runs in its own process, because signals concern the whole process. It prints a line for each step. */
function startProgram(start: string): {
  child: ChildProcess;
  output: () => string;
  until: (line: string) => Promise<void>;
} {
  const source = `
    import { runUntilSignal } from ${JSON.stringify(lifecycle)};
    const print = (line) => process.stdout.write(line + '\\n');
    const alive = setInterval(() => undefined, 1000);
    process.exitCode = await runUntilSignal(async ({ signal, stop }) => { ${start} }).finally(() => clearInterval(alive));
    print('returned');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += `! ${chunk}`));
  return {
    child,
    output: () => text.trim().split('\n').join(', '),
    until: async (line) => {
      while (!text.includes(`${line}\n`)) await once(child.stdout, 'data');
    },
  };
}

const disposable = (body: string): string => `{ [Symbol.asyncDispose]: async () => { ${body} } }`;

describe('runUntilSignal', () => {
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    it(`disposes on ${name} and returns 0`, async () => {
      const { child, output, until } = startProgram(`
        signal.addEventListener('abort', () => print('stopping on ' + signal.reason.message));
        print('up'); return ${disposable("print('disposed')")};`);
      await until('up');
      child.kill(name);
      assert.deepEqual(await once(child, 'close'), [0, null]);
      assert.equal(output(), `up, stopping on ${name}, disposed, returned`);
    });
  }

  it('ends immediately on a second signal', async () => {
    const { child, output, until } = startProgram(`
      print('up'); return ${disposable("print('disposing'); await new Promise(() => undefined);")};`);
    await until('up');
    child.kill('SIGTERM');
    await until('disposing');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [130, null]);
    assert.equal(output(), 'up, disposing');
  });

  it('ends with the exit code that the program chooses', async () => {
    const { child, output } = startProgram(`setTimeout(() => stop(3), 1); return ${disposable("print('disposed')")};`);
    assert.deepEqual(await once(child, 'close'), [3, null]);
    assert.equal(output(), 'disposed, returned');
  });

  it('returns 0 when the signal interrupts the start', async () => {
    const { child, output, until } = startProgram(`
      print('starting');
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));`);
    await until('starting');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [0, null]);
    assert.equal(output(), 'starting, returned');
  });

  it('throws the error of start', async () => {
    const { child, output } = startProgram(`throw new Error('no port');`);
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.match(output(), /Error: no port/);
  });
});

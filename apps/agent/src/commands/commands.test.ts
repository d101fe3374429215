import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { createRunningAgent } from './adapters/agent-client.ts';
import { historyEntry, type RunningServer, startedAnswer, startServer } from '../../testing/running-server.ts';
import { askRunningAgent, type CommandName } from './commands.ts';

type Ran = { exitCode: number; out: string; errors: string };

/** Runs a command against the API. `steps` happen one by one, whenever it waits. */
async function run(
  running: RunningServer,
  name: CommandName,
  options: { version?: string; isJson?: boolean; isTTY?: boolean; token?: string; steps?: (() => void)[] } = {},
): Promise<Ran> {
  const { version = null, isJson = false, isTTY = false, token = null, steps = [] } = options;
  let out = '';
  let errors = '';
  let now = 0;
  const exitCode = await askRunningAgent(name, version, {
    agent: createRunningAgent({ ...running.tcp, token }),
    clock: {
      monotonic: () => now,
      sleep: async (ms) => {
        now += ms;
        steps.shift()?.();
      },
    },
    out: { isTTY, write: (text) => void (out += text) },
    errors: { write: (text) => void (errors += text) },
    isJson,
  });
  return { exitCode, out, errors };
}

/** The operation of the scripted agent comes to this end. */
const ending =
  ({ agent }: RunningServer, changes: Parameters<typeof historyEntry>[0] = {}) =>
  (): void => {
    agent.statusNow = { ...agent.statusNow, operation: null, history: [historyEntry(changes)] };
  };

const phase =
  ({ agent }: RunningServer, phase: 'verifying' | 'pulling', percent: number) =>
  (): void => {
    const { operation } = agent.statusNow;
    assert.ok(operation);
    const progress = { doneBytes: percent * 1_000_000, totalBytes: 100_000_000, percent };
    agent.statusNow = { ...agent.statusNow, operation: { ...operation, phase, progress } };
  };

describe('status', () => {
  it('says what runs, what is under way and what is wrong', async () => {
    await using running = await startServer();
    const { exitCode, out } = await run(running, 'status');
    assert.equal(exitCode, 0);
    for (const line of [
      'Station    0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3d',
      'Release    1.0.0; 1.1.0 is ready: station-agent update',
      'Now        Update to 1.1.0: downloading, 25 B of 100 B',
      'Previous   there is no release to roll back to',
      'Service    backend: running, healthy',
      'Service    proxy: exited',
      'FAULT      It does not answer.',
    ]) {
      assert.ok(out.split('\n').includes(line), `${line}\n in \n${out}`);
    }
  });

  it('shows no text of others that a terminal obeys', async () => {
    await using running = await startServer();
    const { agent } = running;
    const ssid = 'a\u001b]0;b\u0007\u009b2J\nRelease    9.9.9\u202e';
    agent.statusNow = { ...agent.statusNow, wifi: { ...agent.statusNow.wifi, mode: 'client', ssid } };
    for (const isJson of [false, true]) {
      const { out } = await run(running, 'status', { isJson });
      assert.doesNotMatch(out, /(?!\n)[\p{Cc}\p{Bidi_Control}]|^Release {4}9/mu);
    }
  });

  it('is the whole status as one line for programs', async () => {
    await using running = await startServer();
    const { out } = await run(running, 'status', { isJson: true });
    assert.deepEqual(JSON.parse(out), running.agent.statusNow);
    assert.equal(out.split('\n').length, 2);
  });

  it('says with exit code 69 that nothing answers, or something else', async () => {
    const running = await startServer();
    await running[Symbol.asyncDispose]();
    const gone = await run(running, 'status');
    assert.equal(gone.exitCode, 69);
    assert.match(
      gone.errors,
      /^station-agent: the agent does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/,
    );
    for (const body of ['<html>', '{}']) {
      await using other = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
      await once(other, 'listening');
      const tcp = { host: '127.0.0.1', port: (other.address() as AddressInfo).port };
      const strange = await run({ ...running, tcp }, 'status');
      assert.equal(strange.exitCode, 69, body);
    }
  });
});

describe('check', () => {
  it('says what is offered, and fails when something could not be asked for', async () => {
    await using running = await startServer();
    const { exitCode, out } = await run(running, 'check');
    assert.equal(exitCode, 1);
    assert.match(out, /^Release 1\.1\.0 is ready; 1\.0\.0 runs\. Install it: station-agent update$/m);
    assert.match(out, /^Firmware could not be asked for: see the log$/m);
    const firmware = { ok: false };
    const release = { ok: true, latestVersion: '1.1.0', updateAvailable: true };
    assert.deepEqual(JSON.parse((await run(running, 'check', { isJson: true })).out), { release, firmware });
  });
});

describe('update', () => {
  it('shows the bytes on a terminal, redrawn, and then the result', async () => {
    await using running = await startServer();
    const steps = [phase(running, 'pulling', 50), phase(running, 'verifying', 100), ending(running)];
    const { exitCode, out } = await run(running, 'update', { isTTY: true, steps });
    assert.equal(exitCode, 0);
    assert.deepEqual(running.agent.asked, ['update latest']);
    const [, ...drawn] = out.split('\r\x1b[K');
    assert.deepEqual(drawn, [
      '██████░░░░░░░░░░░░░░░░░░ 25 % Update to 1.1.0: downloading, 25 B of 100 B',
      '████████████░░░░░░░░░░░░ 50 % Update to 1.1.0: downloading, 50.0 MB of 100 MB',
      '████████████████████████ 100 % Update to 1.1.0: checking that it is healthy',
      '1.1.0 runs now instead of 1.0.0 (60.0 s, of which 1.5 s offline).\n',
    ]);
  });

  it('has a line for each phase in a file, and objects for programs', async () => {
    await using running = await startServer();
    const steps = [phase(running, 'pulling', 50), phase(running, 'verifying', 100), ending(running)];
    const { out } = await run(running, 'update', { version: '1.1.0', steps });
    assert.deepEqual(running.agent.asked, ['update 1.1.0']);
    assert.equal(out.split('\n').length, 4, out);
    await using other = await startServer();
    const { operation } = other.agent.statusNow;
    const objects = await run(other, 'update', { isJson: true, steps: [ending(other)] });
    const lines = objects.out.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as object),
      [{ operation }, historyEntry()],
    );
  });

  it('goes on while the agent restarts', async () => {
    await using running = await startServer();
    const fail = (): void => void (running.agent.statusError = new Error('stopping'));
    const end = (): void => {
      running.agent.statusError = null;
      ending(running)();
    };
    const { exitCode, errors } = await run(running, 'update', { steps: [fail, end] });
    assert.deepEqual([exitCode, errors], [0, '']);
  });

  it('fails when the release was rolled back or not installed, and says why', async () => {
    const ends = [
      [{ result: 'rolled_back' }, 'Release 1.1.0 failed: it crashed. 1.0.0 runs again.\n'],
      [{ result: 'failed' }, 'Release 1.1.0 was not installed: it crashed.\n'],
      [
        { result: 'failed', isSwitched: true },
        'Release 1.1.0 failed, and 1.0.0 did not become healthy again: it crashed.\n',
      ],
    ] as const;
    for (const [changes, text] of ends) {
      await using running = await startServer();
      const { exitCode, out } = await run(running, 'update', {
        steps: [ending(running, { ...changes, reason: 'it crashed' })],
      });
      assert.equal(exitCode, 1);
      assert.ok(out.endsWith(text), out);
    }
  });

  it('says that the release runs already', async () => {
    await using running = await startServer();
    running.agent.answer = { kind: 'already_current', version: '1.0.0' };
    assert.deepEqual(await run(running, 'update'), { exitCode: 0, out: '1.0.0 runs already.\n', errors: '' });
    const { out } = await run(running, 'update', { isJson: true });
    assert.deepEqual(JSON.parse(out), { result: 'already_current', version: '1.0.0' });
  });

  it('says so in the same words when the agent knows it only later', async () => {
    const late = { result: 'failed', code: 'already_current', from: '1.0.0', to: null } as const;
    for (const [isJson, last] of [
      [false, '1.0.0 runs already.'],
      [true, '{"result":"already_current","version":"1.0.0"}'],
    ] as const) {
      await using running = await startServer();
      const { exitCode, out } = await run(running, 'update', { isJson, steps: [ending(running, late)] });
      assert.deepEqual([exitCode, out.trimEnd().split('\n').at(-1)], [0, last]);
    }
  });

  it('gives up when the agent forgets the operation', async () => {
    await using running = await startServer();
    running.agent.statusNow = { ...running.agent.statusNow, operation: null };
    const { exitCode, errors } = await run(running, 'update');
    assert.equal(exitCode, 69);
    assert.match(errors, /knows nothing of the operation operation-1 any more/);
  });
});

describe('rollback', () => {
  it('ends well when the release before runs, and fails when that one failed', async () => {
    for (const [reason, code, text] of [
      [null, 0, '1.0.0 runs now instead of 1.1.0 (60.0 s, of which 1.5 s offline).\n'],
      ['it crashed', 1, 'The rollback to 1.0.0 failed: it crashed. 1.1.0 runs again.\n'],
    ] as const) {
      await using running = await startServer();
      const end = ending(running, { kind: 'rollback', result: 'rolled_back', from: '1.1.0', to: '1.0.0', reason });
      const { exitCode, out } = await run(running, 'rollback', { steps: [end] });
      assert.equal(exitCode, code);
      assert.ok(out.endsWith(text), out);
    }
  });

  it('tells a refusal with its code, and carries the token', async () => {
    const token = 'agent-token-0123456789';
    await using running = await startServer({ token });
    const without = await run(running, 'rollback');
    assert.equal(without.exitCode, 1);
    assert.match(without.errors, /needs the token of the agent .*\(unauthorized\)$/m);
    running.agent.answer = { kind: 'refused', code: 'nothing_to_roll_back', message: 'There is no release before.' };
    const refused = await run(running, 'rollback', { token });
    assert.deepEqual(refused, {
      exitCode: 1,
      out: '',
      errors: 'station-agent: There is no release before. (nothing_to_roll_back)\n',
    });
    running.agent.answer = startedAnswer(new Promise(() => undefined));
    assert.equal((await run(running, 'rollback', { token, steps: [ending(running)] })).errors, '');
  });
});

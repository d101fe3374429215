import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { BackendHealth } from '@station/protocol/rest';
import { run, waitFor } from '../../rig/program.ts';
import { install, type Installation, owner, stationId } from '../backend/installation.ts';
import { startNumberedDevice } from '../backend/numbered-device.ts';

const isRoot = process.getuid?.() === 0;

/** Edits the database with SQLite's own program and does not save until it is disposed. */
async function holdDatabase(file: string): Promise<AsyncDisposable> {
  const child = spawn('sqlite3', [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout);
  child.stdin.write('.timeout 60000\nbegin immediate;\n.print held\n');
  await once(lines, 'line');
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'close');
      child.stdin.end('rollback;\n');
      await ended;
    },
  };
}

async function health({ url }: Installation): Promise<NonNullable<BackendHealth['reasons']>['database'] | 'ok'> {
  const answer = (await (await fetch(`${url}/api/health`)).json()) as BackendHealth;
  return answer.reasons?.database ?? 'ok';
}

const logIn = async ({ url }: Installation): Promise<{ status: number; code: string | null }> => {
  const { email, password } = owner;
  const answer = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  return { status: answer.status, code: ((await answer.json()) as { code?: string }).code ?? null };
};

test('a database that another program holds, and a card that became read-only', { timeout: 600_000 }, async (t) => {
  await using station = await install('the embedded broker and SQLite', { devices: 1 });
  await station.startBackend();
  const headers = { authorization: `Bearer ${await station.logIn()}` };

  await t.test('people are answered, nothing acknowledged is lost, and the cause is named', async () => {
    await using device = startNumberedDevice(station.mqttUrl, stationId, station.logins[0]!);
    device.allow(50);
    await waitFor('the first events', () => device.acknowledged.size === 50);
    {
      await using _held = await holdDatabase(join(station.dataDir, 'station.sqlite'));
      device.allow(20);
      await waitFor('health to name the lock', async () => (await health(station)) === 'locked');
      assert.equal((await fetch(`${station.url}/api/devices`, { headers })).status, 200);
      assert.deepEqual(await logIn(station), { status: 503, code: 'storage_locked' });
      assert.equal(device.acknowledged.size, 50);
    }
    await waitFor('the other events', () => device.acknowledged.size === 70);
    const [row] = await station.query<{ n: number }>('select count(*) as n from device_events');
    assert.equal(row?.n, 70);
    await waitFor('health to be good', async () => (await health(station)) === 'ok');
    assert.equal((await logIn(station)).status, 200);
  });

  await t.test(
    'a start on a read-only card answers with the reason, and goes on when it can be written',
    {
      skip: isRoot ? false : 'only root may mount a folder',
    },
    async () => {
      await station.stopBackend('SIGTERM');
      const { dataDir } = station;
      await run('mount', ['--bind', dataDir, dataDir]);
      try {
        await run('mount', ['-o', 'remount,bind,ro', dataDir]);
        await station.startBackend('anyway');
        assert.equal(await health(station), 'read-only');
        assert.deepEqual(await logIn(station), { status: 503, code: 'storage_unwritable' });
        assert.equal((await station.logged('backend_start_failed')).length, 0);
        await run('mount', ['-o', 'remount,bind,rw', dataDir]);
        await waitFor('health to be good', async () => (await health(station).catch(() => null)) === 'ok');
        assert.equal((await logIn(station)).status, 200);
      } finally {
        await station.stopBackend('SIGKILL');
        await run('umount', [dataDir]);
      }
    },
  );
});

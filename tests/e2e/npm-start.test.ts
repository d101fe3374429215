import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Status } from '@station/protocol/agent-api';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import type { Session } from '@station/protocol/rest';
import { startReferenceCloud } from '../../simulators/cloud/reference-cloud.ts';
import { holdMs } from '../../simulators/station/holding-agent.ts';
import { waitFor } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

const patienceMs = 300_000;
const root = join(import.meta.dirname, '../..');
const owner = { email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };

/** The processes that have the folder in their environment or arguments. */
async function processesOf(folder: string): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const read = (file: string): Promise<string> => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '');
    if (`${await read('environ')}${await read('cmdline')}`.includes(folder)) pids.push(Number(name));
  }
  return pids;
}

type Started = {
  program: ChildProcess;
  printed: () => string;
  web: string;
  releases: string;
  ended: Promise<number | null>;
};

describe('npm start', () => {
  let workspace: Workspace;
  let env: Record<string, string>;

  before(async () => {
    workspace = await createWorkspace();
    const { PATH = '', HOME = '' } = process.env;
    env = { PATH, HOME, STATION_STATE_DIR: join(workspace.folder, 'state'), PORT: '0', RELEASE_PORT: '0' };
  });
  after(() => workspace[Symbol.asyncDispose]());
  // What a failed test left running would fail the next one.
  afterEach(async () => {
    for (const one of begun.splice(0)) {
      if (one.program.exitCode === null && one.program.signalCode === null) await interrupt(one);
    }
  });

  const begun: Omit<Started, 'web' | 'releases'>[] = [];
  const run = (): Omit<Started, 'web' | 'releases'> => {
    // As in a terminal, Ctrl-C reaches npm and its children, which are one process group.
    const program = spawn('npm', ['start'], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    // Cleans up after failed tests.
    workspace.own({
      [Symbol.asyncDispose]: async () => {
        if (program.exitCode === null && program.signalCode === null) process.kill(-(program.pid ?? 0), 'SIGKILL');
      },
    });
    let text = '';
    program.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const ended = once(program, 'close').then(([code]) => code as number | null);
    const started = { program, printed: () => text, ended };
    begun.push(started);
    return started;
  };

  const start = async (): Promise<Started> => {
    const started = run();
    let over = false;
    void started.ended.then(() => (over = true));
    await waitFor('the station to be up', () => over || /Stop +Ctrl-C/.test(started.printed()), patienceMs);
    const printed = started.printed();
    assert.equal(over, false, printed);
    const address = (what: string): string =>
      new RegExp(`${what} +(http://[\\d.:]+)`).exec(printed)?.[1] ?? assert.fail(printed);
    return { ...started, web: address('Open'), releases: address('Offer releases') };
  };

  const interrupt = async ({ program, ended }: Pick<Started, 'program' | 'ended'>): Promise<void> => {
    let over = false;
    void ended.then(() => (over = true));
    process.kill(-(program.pid ?? 0), 'SIGINT');
    await waitFor('the end after Ctrl-C', () => over, patienceMs);
    await nothingLeft();
  };

  /** Stopping processes takes time on a busy machine. */
  const nothingLeft = async (): Promise<void> => {
    const isEmpty = async (): Promise<boolean> => (await processesOf(workspace.folder)).length === 0;
    await waitFor('no processes to remain', isEmpty, patienceMs);
  };

  const logIn = async (web: string): Promise<string> => {
    const response = await post(`${web}/api/auth/login`, { email: owner.email, password: owner.password });
    assert.equal(response.status, 200);
    return ((await response.json()) as Session).accessToken;
  };

  const statusOf = async (web: string, token: string): Promise<Status> => {
    const response = await fetch(`${web}/api/system/status`, { headers: { authorization: `Bearer ${token}` } });
    return (await response.json()) as Status;
  };

  const health = async (web: string): Promise<string> => {
    const asked = performance.now();
    const response = await fetch(`${web}/api/health`);
    const body = await response.text();
    // The proxy holds requests for so long. A backend that starts slower than that is the machine's doing.
    if (response.status === 503 && performance.now() - asked >= holdMs) return health(web);
    assert.equal(response.status, 200, body);
    return (JSON.parse(body) as { version: string }).version;
  };

  it('runs setup, an update without a failed request and a rollback, then ends', async () => {
    const station = await start();
    const { web, releases } = station;
    assert.match(await (await fetch(web)).text(), /<div id="root">/);
    const code = /Set-up code +([\dA-Z-]+)/.exec(station.printed())?.[1];
    const setUp = await post(`${web}/api/auth/setup`, { code, ...owner });
    assert.equal(setUp.status, 201);
    const { accessToken: token } = (await setUp.json()) as Session;

    assert.equal((await fetch(`${releases}/offers/good`, { method: 'POST' })).status, 200);
    await waitFor('the offer to be visible', async () => (await statusOf(web, token)).latestVersion === '1.1.0');
    assert.equal((await post(`${web}/api/system/update`, {}, token)).status, 202);
    const seen = new Set<string>();
    let updating = true;
    const visitor = (async () => {
      // `health` checks every response: one that is not 200 fails the test.
      while (updating) {
        seen.add(await health(web));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const updated = await waitFor(
      'the update',
      async () => {
        const status = await statusOf(web, token);
        return status.operation === null && status.history[0]?.to === '1.1.0' && status;
      },
      patienceMs,
    );
    updating = false;
    await visitor;
    assert.equal(updated.history[0]?.result, 'updated');
    assert.deepEqual([...seen], ['1.0.0', '1.1.0']);

    await fetch(`${releases}/offers/crashes`, { method: 'POST' });
    await waitFor('the offer to be visible', async () => (await statusOf(web, token)).latestVersion === '1.2.0');
    assert.equal((await post(`${web}/api/system/update`, {}, token)).status, 202);
    const back = await waitFor(
      'the rollback',
      async () => {
        const status = await statusOf(web, token);
        return status.operation === null && status.history[0]?.to === '1.2.0' && status;
      },
      patienceMs,
    );
    assert.equal(back.history[0]?.result, 'rolled_back');
    assert.equal(await health(web), '1.1.0');
    // A person starts updates here, so firmware waits too.
    const rollouts = async (): Promise<Rollout[]> => {
      const response = await fetch(`${web}/api/firmware/rollouts`, { headers: { authorization: `Bearer ${token}` } });
      return (await response.json()) as Rollout[];
    };
    const ofLamps = async (): Promise<string | false> =>
      (await rollouts()).find(({ type }) => type === 'light')?.state ?? false;
    assert.equal(await waitFor('the firmware to be offered', ofLamps, patienceMs), 'waiting_approval');
    const chosen = await fetch(`${web}/api/system/auto-update`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ autoUpdate: true }),
    });
    assert.deepEqual([chosen.status, await chosen.json()], [200, { autoUpdate: true }]);
    assert.equal((await statusOf(web, token)).autoUpdate, true);
    const lamps = await waitFor(
      'the lamps to update their firmware automatically',
      async () => {
        const response = await fetch(`${web}/api/firmware`, { headers: { authorization: `Bearer ${token}` } });
        const { installed = [] } = ((await response.json()) as Firmware[]).find(({ type }) => type === 'light') ?? {};
        return installed.length === 1 && installed[0]?.version === '1.1.0' && installed[0];
      },
      patienceMs,
    );
    assert.equal(lamps.devices, 2);
    await interrupt(station);
  });

  it('keeps owner and release over a restart, and does not start twice', async () => {
    const station = await start();
    assert.doesNotMatch(station.printed(), /Set-up code/);
    assert.equal(await health(station.web), '1.1.0');
    const status = await statusOf(station.web, await logIn(station.web));
    assert.deepEqual(
      status.quarantined.map(({ version }) => version),
      ['1.2.0'],
    );
    const second = run();
    assert.equal(await second.ended, 1);
    assert.ok(second.printed().includes(`This station is already running: ${station.web}`));
    await interrupt(station);
  });

  it('connects to a cloud, and restarts without an owner after a reset by the cloud', async () => {
    await using cloud = await startReferenceCloud({});
    env['CLOUD_HOST'] = cloud.host;
    const station = await start();
    delete env['CLOUD_HOST'];
    const waiting = () => waitFor('the station to wait for a claim', () => cloud.waiting()[0]);
    const { chipId, claimSecret } = await waiting();
    assert.ok(cloud.claim(chipId, claimSecret) !== null);
    const link = await cloud.connection();
    link.send({ type: 'station_reset' });
    const renewed = await waiting();
    assert.equal(renewed.chipId, chipId);
    assert.notEqual(renewed.claimSecret, claimSecret);
    const isBack = async (): Promise<boolean> => (await fetch(`${station.web}/api/health`)).status === 200;
    await waitFor('the station to be online again', isBack, patienceMs);
    assert.equal(await health(station.web), '1.1.0');
    await interrupt(station);
  });

  it('leaves nothing behind when it is killed, and starts again', async () => {
    const station = await start();
    process.kill(-(station.program.pid ?? 0), 'SIGKILL');
    await nothingLeft();
    const again = await start();
    assert.equal(await health(again.web), '1.1.0');
    await interrupt(again);
  });
});

function post(url: string, body: object, token?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { agentWithoutDocker, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { backendProgram } from '../../rig/build.ts';
import { needPackages } from '../../rig/debian.ts';
import { run, systemEnv, tryRun } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';

// Somebody has the SD card, a copy of a backup, or an account of no importance on the machine.

const passphrase = 'correct horse battery staple';

describe('a stolen card', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let agent: AgentProcess;
  let backup = '';
  let token = '';

  before(async () => {
    await needPackages(['age']);
    const workspace = life.use(await createWorkspace());
    station = life.use(await install('the embedded broker and SQLite', { devices: 4 }));
    await station.startBackend();
    token = await station.logIn();
    const settings = {
      nightly: false,
      at: '03:00',
      keep: { daily: 1, weekly: 1 },
      folder: false,
      webdav: null,
      passphrase,
    };
    const put = await fetch(`${station.url}/api/backup/settings`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(settings),
    });
    assert.equal(put.status, 200, await put.text());
    backup = join(station.folder, 'home.age');
    const word = join(station.folder, 'word');
    await writeFile(word, `${passphrase}\n`);
    await run(process.execPath, [backendProgram, 'backup', '--to', backup, '--passphrase-file', word], {
      env: station.env,
    });
    const env = {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: stationId,
      UPDATE_SERVER_URL: 'http://127.0.0.1:9/manifest.json',
      COMPOSE_PROJECT_PATH: workspace.folder,
      PORT: '0',
    };
    agent = await createAgentProcess(workspace, env, 'agent', agentWithoutDocker);
    await agent.start();
    await agent.stop();
    await station.stopBackend('SIGTERM');
  });
  after(() => life.disposeAsync());

  /** Every file below a folder. */
  const filesIn = async (folder: string): Promise<string[]> =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).flatMap((entry) =>
      entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
    );

  it('has backups that open for nobody without their passphrase, and tell nothing', async () => {
    const content = await readFile(backup);
    for (const text of [owner.email, owner.name, stationId, 'SQLite format 3', 'manifest.json']) {
      assert.equal(content.indexOf(text), -1, text);
    }
    // `age` asks a terminal for the passphrase; `script` is one.
    const open = (word: string) =>
      tryRun('script', ['-qec', `age -d -o /dev/null ${backup}`, '/dev/null'], { input: `${word}\n` });
    for (const word of ['', 'correct horse battery', passphrase.toUpperCase()]) {
      assert.notEqual((await open(word)).exitCode, 0, word);
    }
    assert.equal((await open(passphrase)).exitCode, 0);
  });

  it('has no password, no token and no passphrase in plain text', async () => {
    const secrets = [owner.password, passphrase, token, ...station.logins.map((login) => login.token)];
    for (const file of await filesIn(station.dataDir)) {
      const content = await readFile(file);
      for (const [number, secret] of secrets.entries())
        assert.equal(content.indexOf(secret), -1, `${file}: secret ${number}`);
    }
  });

  it('has its files for the service alone: another account of the machine reads none', async () => {
    const readable: string[] = [];
    for (const folder of [station.dataDir, agent.dataDir]) {
      if (((await stat(folder)).mode & 0o007) === 0) continue;
      for (const file of await filesIn(folder)) if (((await stat(file)).mode & 0o007) !== 0) readable.push(file);
    }
    // What the proxy shows to everybody: the certificate for phones, and which site it serves. And which release runs.
    const open =
      /\/(tls\/https\/(ca\.crt|https\.caddy)|current_version\.txt|rollback\.json|compose\.\w+\.override\.yml)$/;
    assert.deepEqual(
      readable.filter((file) => !open.test(file)),
      [],
    );
    const keys = await Promise.all((await filesIn(agent.dataDir)).map((file) => readFile(file, 'utf8')));
    assert.ok(
      keys.some((text) => text.includes('PRIVATE KEY')),
      'the keys of the certificates are among them',
    );
  });
});

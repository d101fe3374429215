import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { joinLogins } from '@station/agent/backup/broker-logins-decide';
import { createDynsec } from '@station/backend/mqtt/dynsec';
import { findFreePort } from '@station/kit/free-port';
import type { BrokerLogins } from '@station/protocol/agent-backup';
import { needPackages } from '../../rig/debian.ts';
import { mosquittoAnswers, shippedSettings } from '../../rig/mosquitto.ts';
import { run, startDaemon, systemEnv, type Daemon } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';

const startScript = join(import.meta.dirname, '../../../deploy/mosquitto/start.sh');

describe('logins at a real Mosquitto, as the stack starts it', () => {
  let workspace: Workspace;
  let home = '';
  let store = '';
  let port = 0;
  /** Of the backend alone; null: it comes by the port of the devices. */
  let innerPort: number | null = null;
  let broker: Daemon;

  const canLogIn = (username: string, password: string): Promise<boolean> =>
    connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, username, password }, false).then(
      async (client) => {
        await client.endAsync(true);
        return true;
      },
      () => false,
    );
  async function start(password: string, more: Record<string, string> = {}, open = port): Promise<void> {
    const inner = innerPort === null ? {} : { MQTT_INNER_PORT: String(innerPort) };
    const env = { ...systemEnv, MOSQUITTO_HOME: home, MQTT_PASSWORD: password, ...inner, ...more };
    const started = workspace.own(await startDaemon('sh', [startScript], { logFile: join(home, 'log'), env }));
    broker = started;
    await mosquittoAnswers(started, innerPort === null ? [open] : [open, innerPort]);
  }
  async function stop(): Promise<void> {
    broker.kill('SIGTERM');
    await broker.ended;
  }

  before(async () => {
    await needPackages(['mosquitto']);
    workspace = await createWorkspace();
    home = await workspace.subfolder('mosquitto');
    for (const name of ['data', 'config']) await mkdir(join(home, name));
    port = await findFreePort();
    store = join(home, 'data/dynamic-security.json');
    const settings = await shippedSettings({ port, logins: store, folder: join(home, 'data') });
    await writeFile(join(home, 'config/mosquitto.conf'), `${settings}\nuser root\n`);
  });
  after(() => workspace[Symbol.asyncDispose]());

  it('the password of the backend is made at the first start', async () => {
    await start('first');
    assert.equal(await canLogIn('backend', 'first'), true);
    const args = ['-h', '127.0.0.1', '-p', String(port), '-u', 'backend', '-P', 'first', 'dynsec', 'createClient'];
    await run('mosquitto_ctrl', [...args, 'lamp', '-p', 'of the lamp']);
  });

  it('it is another one after a start with another one; the devices keep theirs', async () => {
    await stop();
    await start('second');
    assert.equal(await canLogIn('backend', 'first'), false);
    assert.equal(await canLogIn('backend', 'second'), true);
    assert.equal(await canLogIn('lamp', 'of the lamp'), true);
  });

  it('a device of a restored backup has its rights again, and a planted login has none', async () => {
    const before = await readFile(store, 'utf8');
    const url = `mqtt://127.0.0.1:${port}`;
    const stationId = '6d1f6a2e-6f0b-4f2c-9a37-0d8d8f6c1a11';
    const backend = { url, username: 'backend', password: 'second', authority: null, stationId };
    const dynsec = createDynsec(backend);
    assert.equal(await dynsec.prepare(5, AbortSignal.timeout(60_000)), true);
    await dynsec.add([
      { externalId: 'fan', token: 'fan-token' },
      { externalId: 'spy', token: 'spy-token' },
    ]);
    await stop();
    const saved = JSON.parse(await readFile(store, 'utf8')) as BrokerLogins & { roles: object[] };
    const planted = saved.clients.map((client) => {
      return client.username === 'spy' ? { ...client, roles: [{ rolename: 'admin' }] } : client;
    });
    const present = { ...saved, clients: saved.clients.filter(({ username }) => username === 'backend') };
    await writeFile(store, JSON.stringify(joinLogins(present, { ...saved, clients: planted }), null, '\t'));
    await start('second');
    const granted = async (username: string, topic: string): Promise<boolean> => {
      const options = { reconnectPeriod: 0, username, password: `${username}-token`, protocolVersion: 5 } as const;
      const client = await connectAsync(url, options, false);
      const [grant] = await client.subscribeAsync(topic).catch(() => [{ qos: 128 }]);
      await client.endAsync(true);
      return (grant?.qos ?? 128) < 128;
    };
    assert.equal(await granted('fan', `station/${stationId}/device/fan/command`), true);
    assert.equal(await granted('fan', `station/${stationId}/device/spy/command`), false);
    assert.equal(await canLogIn('spy', 'spy-token'), false);
    await stop();
    await writeFile(store, before);
    await start('second');
  });

  it('it stays as it is where the store has another form', async () => {
    await stop();
    const compact = JSON.stringify(JSON.parse(await readFile(store, 'utf8')));
    await writeFile(store, compact);
    await start('third');
    assert.match(await broker.logTail(), /logins cannot be changed/);
    assert.equal(await canLogIn('backend', 'second'), true);
    assert.equal(await canLogIn('lamp', 'of the lamp'), true);
    assert.equal(await readFile(store, 'utf8'), compact);
  });

  it('a device that takes the client id of the backend or of another device ends no connection', async () => {
    await stop();
    innerPort = await findFreePort();
    await start('second');
    const logIn = (to: number, username: string, password: string, clientId: string): Promise<MqttClient> =>
      connectAsync(`mqtt://127.0.0.1:${to}`, { reconnectPeriod: 0, username, password, clientId }, false);
    const args = ['-h', '127.0.0.1', '-p', String(innerPort), '-u', 'backend', '-P', 'second', 'dynsec'];
    await run('mosquitto_ctrl', [...args, 'createClient', 'fan', '-p', 'of the fan']);
    const backend = await logIn(innerPort, 'backend', 'second', 'station-1');
    const fan = await logIn(port, 'fan', 'of the fan', 'fan');
    for (const clientId of ['station-1', 'fan', 'backend']) {
      const hijacked = await logIn(port, 'lamp', 'of the lamp', clientId);
      // The broker answers what was sent before it ended a connection.
      for (const client of [backend, fan]) await client.subscribeAsync('nothing', { qos: 1 }).catch(() => undefined);
      assert.deepEqual([backend.connected, fan.connected], [true, true], clientId);
      await hijacked.endAsync(true);
    }
    await Promise.all([backend.endAsync(true), fan.endAsync(true)]);
  });

  it('plain MQTT is closed by every spelling of false, and by a word that is neither true nor false', async () => {
    for (const [text, isOpen] of [
      ['False', false],
      ['0', false],
      ['no', false],
      ['flase', false],
      ['1', true],
      ['YES', true],
    ] as const) {
      await stop();
      await start('second', { MQTT_PLAIN: text }, innerPort ?? port);
      assert.equal(await canLogIn('backend', 'second'), isOpen, text);
    }
    // One log of all starts.
    assert.equal((await broker.logTail()).split('MQTT_PLAIN is neither true nor false').length, 2);
  });
});

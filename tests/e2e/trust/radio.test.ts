import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ProvisioningView } from '@station/protocol/provisioning';
import { waitFor } from '../../rig/program.ts';
import { install, type Installation } from '../backend/installation.ts';

// A neighbour in range of the radio advertises whatever it likes. The BLE helper is replaced by one that stands for the air.

const own = 'AA:AA:AA:AA:AA:01';
const twin = 'EE:EE:EE:EE:EE:01';
const wifi = { ssid: 'HomeNet', password: 'the-wifi-password' };

describe('a neighbour in range of the radio', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let folder = '';
  let token = '';
  let messages = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'station-radio-'));
    life.defer(() => rm(folder, { recursive: true }));
    const helper = join(folder, 'evil-helper.mts');
    await copyFile(join(import.meta.dirname, 'evil-helper.ts'), helper);
    station = life.use(await install('the embedded broker and SQLite', { devices: 0, env: { BLE_HELPER: helper } }));
    await station.startBackend();
    token = await station.logIn();
    const socket = new WebSocket(`${station.url.replace('http', 'ws')}/ws`);
    life.defer(() => socket.close());
    await once(socket, 'open');
    socket.addEventListener('message', ({ data }) => {
      if (String(data).includes('"provisioning_candidate')) messages += 1;
    });
    socket.send(JSON.stringify({ type: 'auth', token }));
    await waitFor('the lamp to be found', async () => (await addresses()).includes(own));
  });
  after(() => life.disposeAsync());

  const call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const view = async () => (await (await call('GET', '/api/provisioning')).json()) as ProvisioningView;
  const addresses = async (): Promise<string[]> => (await view()).candidates.map(({ address }) => address);
  const neighbour = (mode: string): Promise<void> => writeFile(join(folder, 'mode'), mode);
  const written = async (): Promise<string[]> => {
    const text = await readFile(join(folder, 'writes'), 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { address: string }).address);
  };
  /** Adds the lamp, waits for the write and gives it up again. */
  const add = async (body: object): Promise<number> => {
    const before = (await written()).length;
    const answer = await call('POST', '/api/provisioning/add', { externalId: 'lamp7', wifi, ...body });
    if (answer.status !== 202) return answer.status;
    const { provisioningId } = (await answer.json()) as { provisioningId: string };
    await waitFor('the write', async () => (await written()).length > before);
    await call('DELETE', `/api/provisioning/${provisioningId}`);
    return answer.status;
  };

  it('says that it is the device of the owner, with a stronger signal: it gets no password', async () => {
    await neighbour('twin');
    await waitFor('both to be found', async () => (await addresses()).includes(twin));
    assert.equal(await add({}), 409);
    assert.deepEqual(await written(), []);
    assert.equal(await add({ address: own }), 202);
    assert.deepEqual(await written(), [own]);
  });

  it('makes up ten thousand addresses a second: the device of the owner is there, and is added', async () => {
    await neighbour('flood');
    await waitFor('the flood', async () => (await addresses()).length > 20);
    const before = messages;
    const since = performance.now();
    for (let look = 0; look < 12; look += 1) {
      assert.ok((await addresses()).includes(own), `look ${look}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const seconds = (performance.now() - since) / 1_000;
    assert.ok(messages - before < 60 + 25 * seconds, `${messages - before} messages in ${seconds} s`);
    assert.ok((await view()).candidates.length <= 500);
    assert.equal(await add({ address: own }), 202);
    assert.deepEqual(new Set(await written()), new Set([own]));
    assert.equal((await call('GET', '/api/health')).status, 200);
    assert.deepEqual(await station.logged('unexpected_error'), []);
  });
});

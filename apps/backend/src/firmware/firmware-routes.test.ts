import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { Firmware } from '@station/protocol/firmware-rollouts';
import { createDeviceStore } from '../store/device-store.ts';
import { contentOf } from '../../testing/firmware-station.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const agentToken = 'the-token-of-the-agent';

/** A backend that was handed 1.0.0 and 1.1.0, with one device. */
async function backendWithImages() {
  await using starting = new AsyncDisposableStack();
  const socketPath = join(starting.use(await temporaryFolder()).path, 'agent.sock');
  const agent = starting.use(await simulateAgent(socketPath));
  const running = starting.use(await runBackend({ env: { AGENT_SOCKET: socketPath, AGENT_TOKEN: agentToken } }));
  const { http } = running;
  const headers = bearer((await running.setUp()).accessToken);
  for (const version of ['1.0.0', '1.1.0']) {
    const { name, file, checksum, size } = contentOf(version);
    const payload = { name, version, file, checksum, size };
    const url = '/api/ota/firmware-ready';
    const ready = await http.inject({ method: 'POST', url, headers: bearer(agentToken), payload });
    assert.equal(ready.statusCode, 204, ready.body);
  }
  const devices = createDeviceStore({ db: running.backend.db, clock: systemClock });
  await devices.provision({ externalId: 'd1', type: 'climate', name: 'Hall', zoneId: null });
  const offered = async (): Promise<string[]> => {
    const types = (await http.inject({ url: '/api/firmware', headers })).json<Firmware[]>();
    return types.flatMap(({ images }) => images.map(({ version }) => version));
  };
  const ask = (version: string) =>
    http.inject({ method: 'POST', url: '/api/firmware/rollouts', headers, payload: { type: 'climate', version } });
  const kept = starting.move();
  return { agent, offered, ask, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('a version whose file the agent removed is not offered, and a request for it is refused with the reason', async () => {
  await using all = await backendWithImages();
  const { agent, offered, ask } = all;
  // A file of the same version for another type is no file for this one.
  const files = [
    { name: 'climate', version: '1.1.0' },
    { name: 'lamp', version: '1.0.0' },
  ];
  agent.answer('/status', 200, { firmware: { files } });
  assert.deepEqual(await offered(), ['1.1.0']);
  const refused = await ask('1.0.0');
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'conflict']);
  assert.match(refused.json().message, /file of this version is not on the station any more/);
  assert.equal((await ask('1.1.0')).statusCode, 201);
});

test('an agent that does not list its files blocks no version', async () => {
  await using all = await backendWithImages();
  const { agent, offered, ask } = all;
  for (const answer of [{ firmware: { items: [] } }, 'nonsense']) {
    agent.answer('/status', 200, answer);
    assert.deepEqual(await offered(), ['1.1.0', '1.0.0']);
  }
  agent.answer('/status', 503, { firmware: { files: [] } });
  assert.deepEqual(await offered(), ['1.1.0', '1.0.0']);
  assert.equal((await ask('1.0.0')).statusCode, 201);
});

test('a device gets the address of a file below the path that the agent named, else below FIRMWARE_FOLDER', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken, FIRMWARE_FOLDER: '/fw' } });
  const { http } = running;
  const devices = createDeviceStore({ db: running.backend.db, clock: systemClock });
  const { token } = await devices.provision({ externalId: 'd1', type: 'climate', name: 'Hall', zoneId: null });
  const { name, file, checksum, size } = contentOf('1.1.0');
  const handOver = async (path?: string): Promise<number> => {
    const payload = { name, version: '1.1.0', file, checksum, size, ...(path === undefined ? {} : { path }) };
    const url = '/api/ota/firmware-ready';
    return (await http.inject({ method: 'POST', url, headers: bearer(agentToken), payload })).statusCode;
  };
  const addressOf = async (): Promise<string> => {
    const url = '/api/ota/check?device_id=d1&version=1.0.0';
    return String((await http.inject({ url, headers: { 'x-device-token': token } })).json().url);
  };
  assert.equal(await handOver(), 204);
  assert.equal(new URL(await addressOf()).pathname, `/fw/${file}`);
  assert.equal(await handOver(`/elsewhere/files/${file}`), 204);
  assert.equal(new URL(await addressOf()).pathname, `/elsewhere/files/${file}`);
  for (const bad of ['no-slash.bin', '/a b.bin', '//host/x.bin', '/x.bin?token=1'])
    assert.equal(await handOver(bad), 400);
});

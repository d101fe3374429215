import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { bearer, runBackend, type RunningBackend } from '../../testing/running-backend.ts';

const agentToken = 'token-of-the-agent';

/** An agent that sees these networks. */
async function agentWith(networks: readonly { name: string; security: string }[]) {
  const seen = networks.map(({ name, security }) => ({ ssid: Buffer.from(name).toString('hex'), name, security }));
  const server = createServer((_request, response) => response.end(JSON.stringify({ networks: seen })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function ask(running: RunningBackend, wifi: { ssid: string; password: string }) {
  const headers = bearer((await running.setUp()).accessToken);
  const send = (method: 'PUT' | 'POST', url: string, payload: object) =>
    running.http.inject({ method, url, headers, payload });
  const answers = [
    await send('PUT', '/api/settings/wifi', wifi),
    await send('POST', '/api/provisioning/add', { externalId: 'light-0001', wifi }),
    await send('POST', '/api/devices/wifi', wifi),
  ];
  return answers.map((answer) => answer.json<{ code?: string }>().code ?? answer.statusCode);
}

const refused = Array.from({ length: 3 }, () => 'wifi_password_invalid');
// This backend has no radio.
const taken = [200, 'unavailable', 202];

describe('the password of a network for devices', () => {
  const cases: [what: string, security: string | null, password: string, expected: readonly (string | number)[]][] = [
    ['five characters where the network has WPA3', 'wpa3', 'salt5', taken],
    ['100 characters where the network has WPA3', 'wpa3', 'a'.repeat(100), taken],
    ['129 characters where the network has WPA3', 'wpa3', 'ä'.repeat(65), refused],
    ['seven characters where the network has WPA2', 'wpa2', '1234567', refused],
    ['100 characters where the network has WPA2', 'wpa2', 'a'.repeat(100), refused],
    ['seven characters where it has both', 'wpa2-wpa3', '1234567', refused],
    ['eight characters where it has WPA2', 'wpa2', '12345678', taken],
    ['a key where it has WPA2', 'wpa2', 'ab'.repeat(32), taken],
    ['seven letters of nine bytes where it has WPA2', 'wpa2', 'pässwör', taken],
    ['seven characters where it is not known', null, '1234567', taken],
    ['none, where a person says that it is open', 'wpa2', '', taken],
  ];
  for (const [what, security, password, expected] of cases) {
    test(`of ${what}`, async () => {
      const wifi = { ssid: 'Home', password };
      await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
      if (security !== null) {
        const joined = { ssid: 'Home', password: 'a good password', security };
        const payload = { wifi: joined };
        const headers = bearer(agentToken);
        const set = await running.http.inject({ method: 'POST', url: '/api/agent/wifi', headers, payload });
        assert.equal(set.statusCode, 204);
      }
      assert.deepEqual(await ask(running, wifi), expected);
      assert.ok(password === '' || !running.logger.lines.some((line) => line.includes(password)));

      await using agent = await agentWith(security === null ? [] : [{ name: 'Home', security }]);
      await using other = await runBackend({ env: { AGENT_TOKEN: agentToken, AGENT_URL: agent.url } });
      assert.deepEqual(await ask(other, wifi), expected, 'as the agent sees it');
    });
  }

  test('is not taken from the agent either where it cannot be right', async () => {
    await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
    const send = async (password: string, security?: string) => {
      const payload = { wifi: { ssid: 'Home', password, security } };
      const headers = bearer(agentToken);
      return (await running.http.inject({ method: 'POST', url: '/api/settings/agent', headers, payload })).statusCode;
    };
    assert.equal(await send('1234567', 'wpa2'), 400);
    assert.equal(await send('12345678', 'wpa2'), 204);
    assert.equal(await send('salt5', 'wpa3'), 204);
    assert.equal(await send('a'.repeat(100), 'wpa3'), 204);
    assert.equal(await send('salt5'), 204);
    assert.equal(await send('', 'open'), 204);
  });

  test('of one of several networks of that name in range', async () => {
    await using agent = await agentWith([
      { name: 'Home', security: 'wpa2' },
      { name: 'Home', security: 'wpa3' },
    ]);
    await using running = await runBackend({ env: { AGENT_URL: agent.url } });
    assert.deepEqual(await ask(running, { ssid: 'Home', password: 'salt5' }), taken);
  });
});

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { createGuard, listensBeyondLoopback } from './guard.ts';
import { call, postJson, startServer, outcomeOf } from '../../testing/running-server.ts';

const token = 'agent-token-0123456789';

describe('with a token', () => {
  const refused: [string, Record<string, string>][] = [
    ['no token', {}],
    ['an empty header', { authorization: '' }],
    ['no token after the scheme', { authorization: 'Bearer' }],
    ['the last character changed', { authorization: 'Bearer agent-token-0123456788' }],
    ['the first character changed', { authorization: 'Bearer bgent-token-0123456789' }],
    ['one character less', { authorization: 'Bearer agent-token-012345678' }],
    ['one character more', { authorization: 'Bearer agent-token-01234567890' }],
    ['another case', { authorization: 'Bearer Agent-token-0123456789' }],
    ['another scheme', { authorization: `Basic ${token}` }],
    ['the token alone', { authorization: token }],
    ['two tokens', { authorization: `Bearer ${token} ${token}` }],
    ['another header', { 'x-agent-token': token }],
  ];
  for (const [title, headers] of refused) {
    it(`a change with ${title} is refused`, async () => {
      await using running = await startServer({ token });
      for (const path of ['/update', '/rollback', '/check']) {
        const answer = await call(running.tcp, 'POST', path, { headers });
        assert.equal(outcomeOf(answer), '401 unauthorized');
        assert.equal(answer.headers['www-authenticate'], 'Bearer');
        assert.ok(!answer.text.includes(token));
      }
      assert.deepEqual(running.agent.asked, []);
    });
  }

  it('a change with the token is made, over TCP and over the socket', async () => {
    await using running = await startServer({ token, socketName: 'agent.sock' });
    const targets = [running.tcp, { socketPath: `${running.folder}/agent.sock` }];
    for (const target of targets) {
      for (const authorization of [`Bearer ${token}`, `bearer  ${token}`]) {
        assert.equal(outcomeOf(await call(target, 'POST', '/check', { headers: { authorization } })), '200');
      }
      assert.equal(outcomeOf(await call(target, 'POST', '/check')), '401 unauthorized');
    }
    assert.deepEqual(running.agent.asked, ['check', 'check', 'check', 'check']);
  });

  it('reading needs none under the names of the agent, and shows nothing to a page under another name', async () => {
    await using running = await startServer({ token });
    for (const path of ['/health', '/version', '/status', '/wifi/status', '/metrics', '/log', '/doctor', '/events']) {
      const foreign = await call(running.tcp, 'GET', path, { headers: { host: 'evil.example' } });
      assert.equal(outcomeOf(foreign), '403 host_not_allowed', path);
      const origin = await call(running.tcp, 'GET', path, { headers: { origin: 'http://evil.example' } });
      assert.equal(outcomeOf(origin), '403 origin_not_allowed', path);
    }
    for (const host of ['localhost', '127.0.0.1:3001', '[::1]'])
      assert.equal(outcomeOf(await call(running.tcp, 'GET', '/status', { headers: { host } })), '200', host);
    const known = { host: 'station.example', authorization: `Bearer ${token}` };
    assert.equal(outcomeOf(await call(running.tcp, 'GET', '/status', { headers: known })), '200');
  });

  it('a backup and the password of the hotspot need the token, also to read and over the socket', async () => {
    await using running = await startServer({ token, socketName: 'agent.sock' });
    for (const target of [running.tcp, { socketPath: `${running.folder}/agent.sock` }]) {
      assert.equal(outcomeOf(await call(target, 'GET', '/backup')), '401 unauthorized');
      assert.equal(outcomeOf(await call(target, 'GET', '/hotspot')), '401 unauthorized');
      assert.equal(outcomeOf(await postJson(target, '/backup/restore', {})), '401 unauthorized');
      const headers = { authorization: `Bearer ${token}` };
      assert.equal(outcomeOf(await call(target, 'GET', '/backup', { headers })), '200');
      const { json } = await call(target, 'GET', '/hotspot', { headers });
      assert.deepEqual(json, { ssid: 'Station-9c3d', password: 'KPWM2345XY' });
    }
  });

  it('the body of a refused call is not read', async () => {
    await using running = await startServer({ token });
    assert.equal(outcomeOf(await postJson(running.tcp, '/update', 'not even an object')), '401 unauthorized');
  });
});

describe('without a token', () => {
  it('nothing is shown or done under a foreign host name', async () => {
    await using running = await startServer();
    for (const host of ['evil.example', 'localhost.evil.example', '192.0.2.7', 'localhost@evil.example', '0.0.0.0']) {
      for (const [method, path] of [
        ['GET', '/status'],
        ['GET', '/events'],
        ['GET', '/metrics'],
        ['GET', '/nothing'],
        ['POST', '/update'],
        ['POST', '/check'],
      ] as const) {
        const answer = await call(running.tcp, method, path, { headers: { host } });
        assert.equal(outcomeOf(answer), '403 host_not_allowed', `${method} ${path} as ${host}`);
      }
    }
    assert.deepEqual(running.agent.asked, []);
  });

  it('a backup is given over the Unix socket alone', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const empty = { wifi: null, broker: null, release: null, missing: [] };
    assert.equal(outcomeOf(await call(running.tcp, 'GET', '/backup')), '401 unauthorized');
    assert.equal(outcomeOf(await call(running.tcp, 'GET', '/hotspot')), '401 unauthorized');
    assert.equal(outcomeOf(await postJson(running.tcp, '/backup/restore', empty)), '401 unauthorized');
    const socket = { socketPath: `${running.folder}/agent.sock` };
    assert.equal(outcomeOf(await call(socket, 'GET', '/backup')), '200');
    // The logins of a large house are longer than an ordinary body may be.
    const clients = Array.from({ length: 500 }, (_, n) => ({ username: `device-${n}`, password: 'x'.repeat(1000) }));
    const answer = await postJson(socket, '/backup/restore', { ...empty, broker: { clients } });
    assert.equal(outcomeOf(answer), '200');
    assert.deepEqual(running.agent.asked, ['restore 500']);
  });

  it('its own names are answered', async () => {
    await using running = await startServer();
    for (const host of ['localhost', 'LOCALHOST:3001', '127.0.0.1', '127.0.0.2:80', '[::1]:3001', 'localhost.']) {
      assert.equal(outcomeOf(await call(running.tcp, 'GET', '/status', { headers: { host } })), '200', host);
    }
  });

  it('calls of other web sites are refused', async () => {
    await using running = await startServer();
    for (const origin of ['http://evil.example', 'https://localhost.evil.example', 'null', 'file://', 'http://']) {
      for (const method of ['GET', 'POST']) {
        const answer = await call(running.tcp, method, method === 'GET' ? '/status' : '/check', {
          headers: { origin },
        });
        assert.equal(outcomeOf(answer), '403 origin_not_allowed', origin);
      }
    }
    const own = await call(running.tcp, 'POST', '/check', { headers: { origin: 'http://localhost:3001' } });
    assert.equal(outcomeOf(own), '200');
    assert.deepEqual(running.agent.asked, ['check']);
  });

  it('a body that is not JSON is refused', async () => {
    await using running = await startServer();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      for (const body of ['{"version":"1.0.0"}', '']) {
        const answer = await call(running.tcp, 'POST', '/update', { headers: { 'content-type': type }, body });
        assert.equal(outcomeOf(answer), '415 unsupported_media_type', `${type} ${body}`);
      }
    }
    const untyped = await call(running.tcp, 'POST', '/update', { body: '{"version":"1.0.0"}' });
    assert.equal(outcomeOf(untyped), '415 unsupported_media_type');
    assert.deepEqual(running.agent.asked, []);
  });

  it('the Unix socket is open to whoever may connect, under any name', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const socket = { socketPath: `${running.folder}/agent.sock` };
    const headers = { host: 'whatever', origin: 'http://station.example' };
    assert.equal(outcomeOf(await call(socket, 'POST', '/check', { headers })), '200');
  });
});

describe('the names of HOST', () => {
  const isAllowed = (host: string, name: string, localAddress = '127.0.0.1'): boolean => {
    const guard = createGuard({ token: null, host, overSocket: false });
    try {
      guard({ method: 'GET', headers: { host: name }, socket: { localAddress } as Socket }, false);
      return true;
    } catch (error) {
      assert.ok(error instanceof StationError && error.code === 'host_not_allowed');
      return false;
    }
  };
  const cases: [string, string, string, boolean][] = [
    ['192.0.2.7', '192.0.2.7:3001', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8:3001', '192.0.2.7', false],
    ['2001:db8::1', '[2001:DB8:0::1]:3001', '2001:db8::1', true],
    ['station.lan', 'Station.lan:3001', '192.0.2.7', true],
    ['0.0.0.0', '192.0.2.7:3001', '192.0.2.7', true],
    ['0.0.0.0', '192.0.2.8:3001', '192.0.2.7', false],
    ['0.0.0.0', 'station.lan:3001', '192.0.2.7', false],
    ['::', '192.0.2.7', '::ffff:192.0.2.7', true],
    ['::', '[2001:db8::1]', '2001:db8::1', true],
    ['::', 'evil.example', '2001:db8::1', false],
    ['127.0.0.1', '192.0.2.7', '192.0.2.7', false],
  ];
  for (const [host, name, localAddress, allowed] of cases) {
    it(`HOST ${host} ${allowed ? 'answers' : 'refuses'} ${name} at ${localAddress}`, () => {
      assert.equal(isAllowed(host, name, localAddress), allowed);
    });
  }

  it('decide whether other machines can reach the agent', () => {
    const hosts = ['127.0.0.1', '127.1.2.3', '::1', 'localhost', '0.0.0.0', '::', '192.0.2.7', 'station.lan'];
    assert.deepEqual(hosts.filter(listensBeyondLoopback), ['0.0.0.0', '::', '192.0.2.7', 'station.lan']);
  });
});

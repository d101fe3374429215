import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { findFreePort } from '@station/kit/free-port';
import { agentWithoutDocker, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { createCaddy } from '../../rig/caddy.ts';
import { run, systemEnv } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';

// Somebody in the home network or the guest Wi-Fi, without an account, or with what was read from plain HTTP.

const metricsToken = 'token-of-the-metrics-program';
const agentToken = 'token-of-the-agent-for-this-test';

describe('a guest in the network', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let agent: AgentProcess;
  let url = '';
  let agentPort = 0;

  before(async () => {
    const workspace = life.use(await createWorkspace());
    agentPort = await findFreePort();
    const agentEnv = {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: stationId,
      COMPOSE_PROJECT_PATH: workspace.folder,
      UPDATE_SERVER_URL: 'http://127.0.0.1:9/manifest.json',
      PORT: String(agentPort),
    };
    agent = await createAgentProcess(workspace, agentEnv, 'agent', agentWithoutDocker);
    await agent.start();
    const env = { AGENT_SOCKET: agent.socketPath, AGENT_TOKEN: agentToken, METRICS_TOKEN: metricsToken };
    station = life.use(await install('the embedded broker and SQLite', { devices: 4, env }));
    await station.startBackend();
    await station.logIn();
    const certificates = join(agent.dataDir, 'tls/https');
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    await createCaddy(workspace, { port, backendUrl: station.url, firmwareFolder: agent.cacheDir, certificates });
  });
  after(() => life.disposeAsync());

  const statusOf = async (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<number> => {
    const answer = await fetch(url + path, { method, headers });
    await answer.body?.cancel();
    return answer.status;
  };

  it('without an account reads and changes nothing', async () => {
    const closed = [
      '/api/devices',
      '/api/auth/me',
      '/api/auth/sessions',
      '/api/station/members',
      '/api/automations',
      '/api/system/status',
      '/api/system/events',
      '/api/backup',
      '/api/cloud/status',
      '/api/firmware/rollouts',
    ];
    for (const path of closed) assert.equal(await statusOf(path), 401, path);
    for (const path of [
      '/api/system/update',
      '/api/system/rollback',
      '/api/backup',
      '/api/station/members',
      '/api/settings/agent',
    ])
      assert.equal(await statusOf(path, {}, 'POST'), 401, path);
  });

  it('reads the metrics with their token alone', async () => {
    const withToken = (token: string) => statusOf('/metrics', { authorization: `Bearer ${token}` });
    assert.equal(await statusOf('/metrics'), 401);
    for (const token of [`${metricsToken}x`, agentToken]) assert.equal(await withToken(token), 401);
    assert.equal(await withToken(metricsToken), 200);
    assert.equal(await statusOf('/api/devices', { authorization: `Bearer ${metricsToken}` }), 401);
  });

  it('has the certificate of the authority, and no key or file beside it', async () => {
    assert.match(await (await fetch(`${url}/ca.crt`)).text(), /^-----BEGIN CERTIFICATE-----/);
    const outside = ['..%2f', '../', '%2e%2e/', '..%5c', './/../'].flatMap((up) =>
      ['/ca.crt/', '/firmware/', '/'].flatMap((at) =>
        ['station.pem', 'https.caddy', 'authority.pem'].map((name) => at + up + name),
      ),
    );
    for (const path of ['/ca.key', '/station.pem', '/https.caddy', '/firmware/', ...outside]) {
      const asked = request(url, { path, agent: false });
      asked.end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      assert.doesNotMatch(await text(answer), /PRIVATE KEY|reverse_proxy/, path);
    }
  });

  it('does not reach the API of the agent, and no page does under a name of its own', async () => {
    const listening = (await run('ss', ['-Hltn', `sport = :${agentPort}`])).split('\n');
    assert.deepEqual(
      listening.map((line) => line.split(/\s+/)[3]),
      [`127.0.0.1:${agentPort}`],
    );
    const ask = async (method: string, headers: Record<string, string>): Promise<number | undefined> => {
      const asked = request({
        host: '127.0.0.1',
        port: agentPort,
        path: method === 'GET' ? '/status' : '/rollback',
        method,
        headers,
      });
      asked.end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    assert.equal(await ask('GET', {}), 200);
    for (const method of ['GET', 'POST']) {
      assert.notEqual(await ask(method, { host: 'evil.example' }), 200);
      assert.equal(await ask(method, { origin: 'http://evil.example' }), 403);
    }
  });

  describe('with the session of somebody else', () => {
    const login = async (): Promise<{ token: string; cookie: string }> => {
      const answer = await fetch(`${url}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: owner.email, password: owner.password }),
      });
      assert.equal(answer.status, 200);
      const { accessToken } = (await answer.json()) as { accessToken: string };
      return { token: accessToken, cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
    };
    const refresh = async (cookie: string): Promise<{ status: number; cookie: string; token: string }> => {
      const answer = await fetch(`${url}/api/auth/refresh`, { method: 'POST', headers: { cookie } });
      const { accessToken = '' } = (await answer.json()) as { accessToken?: string };
      return {
        status: answer.status,
        cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '',
        token: accessToken,
      };
    };
    /** Connected everywhere with a token. @returns what has ended of it. */
    const useEverywhere = async (token: string): Promise<() => Promise<(number | string)[]>> => {
      const authorization = `Bearer ${token}`;
      assert.equal(await statusOf('/api/devices', { authorization }), 200);
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
      const closed = new Promise<number>((resolve) => socket.on('close', resolve));
      await once(socket, 'open');
      socket.send(JSON.stringify({ type: 'auth', token }));
      await once(socket, 'message');
      const events = await fetch(`${url}/api/system/events`, { headers: { authorization } });
      assert.equal(events.status, 200);
      return async () => {
        const eventsEnded = events.text().then(
          () => 'ended',
          () => 'ended',
        );
        return [await statusOf('/api/devices', { authorization }), await closed, await eventsEnded];
      };
    };
    const everythingEnded = [401, 4401, 'ended'];

    it('is out when the owner logs out: on REST, WebSocket and events, and its cookie too', async () => {
      const { token, cookie } = await login();
      const ended = await useEverywhere(token);
      assert.equal(await statusOf('/api/auth/logout', { cookie }, 'POST'), 204);
      assert.deepEqual(await ended(), everythingEnded);
      assert.equal((await refresh(cookie)).status, 401);
    });

    it('is out when it uses a stolen cookie again: the session ends for both', async () => {
      const { cookie } = await login();
      const first = await refresh(cookie);
      const second = await refresh(first.cookie);
      assert.deepEqual([first.status, second.status], [200, 200]);
      const ended = await useEverywhere(second.token);
      assert.equal((await refresh(cookie)).status, 401);
      assert.deepEqual(await ended(), everythingEnded);
      assert.equal((await refresh(second.cookie)).status, 401);
    });
  });
});

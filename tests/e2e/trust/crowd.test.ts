import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { connectDevice } from '@station/backend/testing/test-device';
import { findFreePort } from '@station/kit/free-port';
import { createCaddy } from '../../rig/caddy.ts';
import { run, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { install, owner as household, stationId, type Installation } from '../backend/installation.ts';

// Somebody in the home network with very many addresses or connections. They come through the proxy, as on a station.

const owner = { email: household.email, password: household.password };
const hex = (value: number): string => value.toString(16);
const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const stationAddress = '2001:db8:5::1';
const ownerAddress = '2001:db8:0e:1::1';
/** Where an attacker with one network of each size takes the next address from. */
const attacker = {
  64: (index: number) => `2001:db8:a:0:${hex(index)}::1`,
  56: (index: number) => `2001:db8:b:${hex(index)}::1`,
  48: (index: number) => `2001:db8:c:${hex(256 * index)}::1`,
  /** A botnet: another subscriber each time. */
  0: (index: number) => `2001:db8:${hex(0x100 + index)}::1`,
} as const;
const addresses = 100;

/** The namespace of this test alone gets the addresses. */
async function addAddresses(): Promise<void> {
  const links = (await run('ip', ['-o', 'link'])).split('\n').filter((line) => !line.includes(' NOARP '));
  assert.equal(links.length, 1, 'this test runs in a network of its own: npm run e2e -- trust');
  const all = [stationAddress, ownerAddress, ...Object.values(attacker).flatMap((of) => times(addresses).map(of))];
  await run('ip', ['-6', '-batch', '-'], {
    input: all.map((address) => `addr add ${address}/128 dev lo nodad\n`).join(''),
  });
}

describe('a crowd of addresses and connections', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let workspace: Workspace;
  let station: Installation;
  let port = 0;

  before(async () => {
    await addAddresses();
    workspace = life.use(await createWorkspace());
    station = life.use(await install('the embedded broker and SQLite', { devices: 4 }));
    await station.startBackend();
    await station.logIn();
    port = await findFreePort();
    await createCaddy(workspace, { port, backendUrl: station.url, firmwareFolder: workspace.folder, bind: '[::]' });
  });
  after(() => life.disposeAsync());

  /** A log-in from an address. */
  const tryLogin = async (
    localAddress: string,
    login: { email: string; password: string },
    headers: Record<string, string> = {},
  ): Promise<{ status: number; code: string; token: string; device: string }> => {
    const asked = request({
      host: stationAddress,
      port,
      localAddress,
      agent: false,
      method: 'POST',
      path: '/api/auth/login',
      headers: { 'content-type': 'application/json', ...headers },
    });
    asked.end(JSON.stringify(login));
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const body = JSON.parse(await text(answer)) as { accessToken?: string; code?: string };
    const device = answer.headers['set-cookie']?.find((cookie) => cookie.startsWith('station_device=')) ?? '';
    return {
      status: answer.statusCode ?? 0,
      code: body.code ?? '',
      token: body.accessToken ?? '',
      device: device.split(';')[0] ?? '',
    };
  };
  /** @returns how many of the guesses were compared with a password. */
  const guess = async (count: number, one: (index: number) => ReturnType<typeof tryLogin>): Promise<number> => {
    const codes = (await Promise.all(times(count).map(one))).map(({ code }) => code);
    // The last two are refused before a password is compared: too many failures, and too many that wait for it.
    const expected = ['invalid_credentials', 'too_many_requests', 'busy'];
    assert.deepEqual(
      codes.filter((code) => !expected.includes(code)),
      [],
    );
    return codes.filter((code) => code === 'invalid_credentials').length;
  };
  const wrongFor = (email: string) => ({ email, password: 'a guess at a password' });

  describe('that guess passwords', () => {
    it('has the guesses of one address with a whole /64, over a kill of the backend too', async () => {
      assert.equal((await tryLogin(ownerAddress, owner)).status, 200);
      const guesses = () => guess(12, (index) => tryLogin(attacker[64](index), wrongFor(owner.email)));
      assert.equal(await guesses(), 5);
      await station.stopBackend('SIGKILL');
      await station.startBackend();
      assert.equal(await guesses(), 0);
    });

    it('has the guesses of one address, whatever X-Forwarded-For says', async () => {
      const forged = (index: number) => ({
        'x-forwarded-for': `203.0.113.${index}`,
        'x-real-ip': `203.0.113.${index}`,
      });
      const login = wrongFor('granny@example.org');
      assert.equal(await guess(12, (index) => tryLogin(attacker[0](0), login, forged(index))), 5);
    });

    it('has few more with a /56 or a /48, also when each guess is at another account', async () => {
      const ofSize = (size: 56 | 48) =>
        guess(70, (index) => tryLogin(attacker[size](index), wrongFor(`${index}@example.org`)));
      assert.equal(await ofSize(56), 40);
      assert.equal(await ofSize(48), 50);
    });

    it('does not keep the owner out, even from everywhere at once', async () => {
      const guesses = await guess(180, (index) => tryLogin(attacker[0](1 + (index % 90)), wrongFor(owner.email)));
      assert.ok(guesses <= 100, `${guesses} guesses at one account`);
      assert.equal((await tryLogin(attacker[0](95), owner)).status, 429, 'the right password, from anywhere');
      const home = await tryLogin(ownerAddress, owner);
      assert.equal(home.status, 200, 'from where the owner was before');
      const elsewhere = await tryLogin(attacker[0](95), owner, { cookie: home.device });
      assert.equal(elsewhere.status, 200, 'from anywhere, with a browser of the owner');
    });
  });

  describe('that never log in', () => {
    const open: (WebSocket | Socket)[] = [];
    after(() => open.forEach((one) => ('terminate' in one ? one.terminate() : one.destroy())));

    const openSocket = async (localAddress: string): Promise<WebSocket> => {
      const socket = new WebSocket(`ws://[${stationAddress}]:${port}/ws`, { localAddress });
      socket.on('error', () => undefined);
      open.push(socket);
      // The station may end it at once: to make room for another.
      await Promise.race([once(socket, 'open'), once(socket, 'close')]);
      return socket;
    };
    const openTcp = async (to: number, localAddress: string): Promise<void> => {
      const socket = connect({
        host: localAddress.includes(':') ? stationAddress : '127.0.0.1',
        port: to,
        localAddress,
      });
      socket.on('error', () => undefined);
      open.push(socket);
      await once(socket, 'connect');
    };
    const ask = async (socket: WebSocket, message: object, answer: RegExp): Promise<void> => {
      const ended = once(socket, 'close').then(() => assert.fail('the station has ended the connection'));
      socket.send(JSON.stringify(message));
      const [data] = (await Promise.race([once(socket, 'message'), ended])) as [Buffer];
      assert.match(data.toString('utf8'), answer);
    };
    const logInOn = (socket: WebSocket, token: string) => ask(socket, { type: 'auth', token }, /"type":"hello"/);

    it('keeps no user out with 1,000 WebSockets, and ends no connection of one', async () => {
      const { token } = await tryLogin(ownerAddress, owner);
      const early = await openSocket(ownerAddress);
      await logInOn(early, token);
      await Promise.all(times(500).map(() => openSocket(attacker[64](1))));
      await Promise.all(times(500).map((index) => openSocket(attacker[0](index % addresses))));
      const late = await openSocket(ownerAddress);
      await logInOn(late, token);
      for (const socket of [early, late]) await ask(socket, { type: 'ping' }, /"type":"pong"/);
    });

    it('keeps no user out with 1,000 connections that send nothing, to the proxy or to the backend', async () => {
      await Promise.all(times(500).map(() => openTcp(port, attacker[64](1))));
      await Promise.all(times(500).map((index) => openTcp(port, attacker[0](index % addresses))));
      await Promise.all(times(1_000).map(() => openTcp(Number(new URL(station.url).port), '127.0.0.2')));
      const { status, token } = await tryLogin(ownerAddress, owner);
      assert.equal(status, 200);
      await logInOn(await openSocket(ownerAddress), token);
    });

    it('keeps no device from the broker with 1,000 connections that send nothing', async () => {
      const mqttPort = Number(new URL(station.mqttUrl).port);
      await Promise.all(times(1_000).map(() => openTcp(mqttPort, '127.0.0.2')));
      const { externalId, token } = station.logins[3] ?? assert.fail();
      await using device = await connectDevice(station.mqttUrl, { stationId, id: '', externalId, token });
      await device.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
      await waitFor('the answer', () => device.received.some(({ body }) => body['status'] === 'ok'));
    });
  });
});

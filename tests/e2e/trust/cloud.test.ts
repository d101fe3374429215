import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { waitFor } from '../../rig/program.ts';
import { install, owner, type Installation } from '../backend/installation.ts';

// Somebody has taken over the cloud of a station that is claimed.

type Member = { userId: string; email: string; role: string };

describe('a hijacked cloud', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let token = '';
  /** Links of the claimed station, the newest last. */
  const links: WebSocket[] = [];

  before(async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    life.defer(() => {
      for (const link of server.clients) link.terminate();
      server.close();
    });
    server.on('connection', (link) => {
      link.on('error', () => undefined);
      link.once('message', (data: Buffer) => {
        const isClaimed = data.toString('utf8').includes('station_auth');
        const answer = isClaimed
          ? { type: 'auth_ok' }
          : { type: 'claim_success', stationToken: 'a token, long enough' };
        link.send(JSON.stringify(answer));
        if (isClaimed) links.push(link);
      });
    });
    await once(server, 'listening');
    const env = { CLOUD_HOST: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
    station = life.use(await install('the embedded broker and SQLite', { env }));
    await station.startBackend();
    token = await station.logIn();
    await waitFor('the station', () => links.length > 0);
    send(sync('o', person('o', 'owner', owner.email), person('p', 'admin', 'petro@example.org')));
    token = await waitFor('its members', async () => {
      token = await station.logIn();
      return (await members()).length === 2 && token;
    });
  });
  after(() => life.disposeAsync());

  const person = (cloudUserId: string, role: string, email = `${cloudUserId}@example.org`) => ({
    cloudUserId,
    role,
    email,
    name: cloudUserId,
  });
  const sync = (ownerId: string, ...people: object[]) => ({
    type: 'identity_sync',
    station: { name: 'Home' },
    ownerId,
    members: people,
  });
  const send = (message: object): void => links.at(-1)?.send(JSON.stringify(message));
  const members = async (): Promise<Member[]> => {
    const answer = await fetch(`${station.url}/api/station/members`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200);
    return (await answer.json()) as Member[];
  };

  it('sends lists of members that contradict themselves: nothing changes, and nobody loses access', async () => {
    const before = await members();
    const lists = [
      sync('nobody', person('o', 'owner', owner.email)),
      sync('x', person('x', 'owner'), person('x', 'owner')),
      sync('x', person('x', 'owner'), person('y', 'admin', 'X@example.org')),
      sync('x'),
      sync('x', person('x', 'emperor')),
      { ...sync('x', person('x', 'owner')), ownerId: null },
    ];
    for (const list of lists) send(list);
    // What it can do, as the last in the row: then all before it were read.
    send({ type: 'member_added', member: person('q', 'member') });
    await waitFor('the new member', async () => (await members()).some(({ email }) => email === 'q@example.org'));
    const others = (await members()).filter(({ email }) => email !== 'q@example.org');
    assert.deepEqual(others, before);
  });

  it('floods the station with pings and with frames that are no messages: it is disconnected, and the station continues', async () => {
    const link = links.at(-1) ?? assert.fail();
    const ended = once(link, 'close');
    for (let frame = 0; frame < 20_000; frame++) link.ping('', false, () => undefined);
    await ended;
    assert.ok(await station.logIn());
    await waitFor('the next connection', () => links.at(-1) !== link);
    const next = links.at(-1) ?? assert.fail();
    for (const text of ['{', '[]', 'null', '{"type":"x"}', JSON.stringify({ type: 'x'.repeat(100_000) })])
      next.send(text);
    for (let frame = 0; frame < 2_000; frame++) next.send('{"jsonrpc":"2.0","method":"nothing"}');
    assert.ok(await station.logIn());
    assert.equal((await fetch(`${station.url}/api/health`)).status, 200);
    assert.deepEqual(await station.logged('unexpected_error'), []);
  });
});

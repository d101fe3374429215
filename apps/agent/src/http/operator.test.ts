import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pause } from '@station/kit/timers';
import { call, outcomeOf, postJson, startServer } from '../../testing/running-server.ts';

const home = { ssid: '686f6d65', security: 'wpa2', password: 'a good password', isHidden: false };

describe('the agent for people who manage the station', () => {
  it('tells of the machine and its network', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const socket = { socketPath: join(running.folder, 'agent.sock') };
    const machine = (await call(socket, 'GET', '/machine')).json as { temperature: number };
    assert.equal(machine.temperature, 48.3);
    const { networks } = (await postJson(socket, '/network/scan', {})).json as { networks: { name: string }[] };
    assert.equal(networks[0]?.name, 'home');
    assert.deepEqual(running.agent.asked, ['scan']);
  });

  it('joins a network, and refuses what cannot be joined, with the reason and without the password', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const { agent, events } = running;
    const socket = { socketPath: join(running.folder, 'agent.sock') };
    assert.equal((await postJson(socket, '/network/join', home)).status, 202);
    assert.deepEqual(agent.asked, ['join 686f6d65 wpa2 false']);
    for (const [changes, reason] of [
      [{ password: 'short' }, 'password_length'],
      [{ password: null }, 'password_missing'],
      [{ security: 'enterprise' }, 'enterprise'],
    ] as const) {
      const answer = await postJson(socket, '/network/join', { ...home, ...changes });
      assert.equal(outcomeOf(answer), '400 bad_request');
      assert.equal((answer.json as { details: { reason: string } }).details.reason, reason);
    }
    agent.joinAnswer = 'hotspot';
    const busy = await postJson(socket, '/network/join', home);
    assert.equal(outcomeOf(busy), '409 conflict');
    for (const body of [
      { ...home, ssid: 'home' },
      { ...home, ssid: '' },
      { ...home, password: 'x'.repeat(129) },
    ]) {
      const refused = await postJson(socket, '/network/join', body);
      assert.equal(outcomeOf(refused), '400 validation_failed');
      assert.ok(!refused.text.includes(home.password));
    }
    assert.ok(!JSON.stringify(events).includes(home.password));
  });

  it('restarts a service and the machine, unless the stack refuses', async () => {
    await using running = await startServer();
    const { agent, tcp } = running;
    assert.equal((await postJson(tcp, '/services/restart', { service: 'backend' })).status, 202);
    assert.equal((await postJson(tcp, '/machine/restart', {})).status, 202);
    assert.deepEqual(agent.asked, ['restart backend', 'restart machine']);
    agent.answer = { kind: 'refused', code: 'update_in_progress', message: 'An update is under way.' };
    assert.equal(outcomeOf(await postJson(tcp, '/services/restart', { service: 'backend' })), '409 update_in_progress');
    for (const service of ['', '../x', '-all', 'x'.repeat(65)])
      assert.equal(outcomeOf(await postJson(tcp, '/services/restart', { service })), '400 validation_failed', service);
  });

  it('takes the choice between automatic updates and being asked first, with the token alone', async () => {
    await using running = await startServer({ token: 'secret' });
    const authorization = 'Bearer secret';
    for (const headers of [{}, { authorization: 'Bearer other' }])
      assert.equal(
        outcomeOf(await postJson(running.tcp, '/auto-update', { autoUpdate: false }, headers)),
        '401 unauthorized',
      );
    assert.deepEqual(running.agent.asked, []);
    const answer = await postJson(running.tcp, '/auto-update', { autoUpdate: false }, { authorization });
    assert.deepEqual([answer.status, answer.json], [200, { autoUpdate: false }]);
    assert.equal((await postJson(running.tcp, '/auto-update', { autoUpdate: null }, { authorization })).status, 200);
    assert.deepEqual(running.agent.asked, ['auto-update false', 'auto-update null']);
    for (const body of [{}, { autoUpdate: 'no' }, { autoUpdate: 0 }, { autoUpdate: true, devices: false }, null])
      assert.equal(
        outcomeOf(await postJson(running.tcp, '/auto-update', body, { authorization })),
        '400 validation_failed',
        JSON.stringify(body),
      );
    assert.equal(
      outcomeOf(await call(running.tcp, 'GET', '/auto-update', { headers: { authorization } })),
      '405 method_not_allowed',
    );
  });

  it('tells the network, the logs and the join over TCP only with a token', async () => {
    await using running = await startServer();
    for (const path of ['/network', '/logs'])
      assert.equal(outcomeOf(await call(running.tcp, 'GET', path)), '401 unauthorized');
    assert.equal(outcomeOf(await postJson(running.tcp, '/network/join', home)), '401 unauthorized');
    assert.equal(outcomeOf(await postJson(running.tcp, '/network/scan', {})), '401 unauthorized');
    assert.deepEqual(running.agent.asked, []);
    await using guarded = await startServer({ token: 'secret' });
    const authorization = 'Bearer secret';
    assert.equal((await call(guarded.tcp, 'GET', '/network', { headers: { authorization } })).status, 200);
    assert.equal(
      outcomeOf(await postJson(guarded.tcp, '/services/restart', { service: 'backend' })),
      '401 unauthorized',
    );
  });

  it('streams lines of a log, one reader at the pace that it reads, and ends with the agent', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const line = { service: 'backend', time: '2026-03-01T12:00:00.000Z', text: 'x'.repeat(8000) };
    let given = 0;
    let isEnded = false;
    running.agent.follower = async (onLine, signal) => {
      while (!signal.aborted) {
        given += 1;
        await onLine(line);
      }
      isEnded = true;
    };
    const socket = connect(join(running.folder, 'agent.sock'));
    socket.write('GET /logs?service=backend HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1.1 200[\s\S]*text\/event-stream/);
    socket.pause();
    let before;
    do {
      before = given;
      await new Promise((resolve) => setTimeout(resolve, 100));
    } while (given > before);
    // What the kernel and the response hold, and no more.
    assert.ok(given < 1000, `${given} lines`);
    assert.deepEqual(running.agent.asked, ['log backend last']);
    socket.destroy();
    while (!isEnded) await new Promise(setImmediate);
  });

  it('follows no log for readers that went away before it was found', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    const { agent } = running;
    let followed = 0;
    agent.follower = async (onLine) => {
      followed += 1;
      await onLine({ service: 'backend', time: '2026-03-01T12:00:00.000Z', text: 'a line' });
    };
    const socketPath = join(running.folder, 'agent.sock');
    for (let count = 0; count < 10; count += 1) {
      const reader = connect(socketPath);
      const gone = new Promise<void>((resolve) => {
        agent.beforeLog = async () => {
          reader.destroy();
          await pause(20);
          resolve();
        };
      });
      reader.write('GET /logs HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await gone;
    }
    agent.beforeLog = async () => undefined;
    assert.equal((await call({ socketPath }, 'GET', '/logs')).status, 200);
    assert.equal(followed, 1);
  });

  it('lets only a few follow the logs', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    running.agent.follower = (_onLine, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const socketPath = join(running.folder, 'agent.sock');
    const readers = [];
    for (let count = 0; count < 6; count += 1) {
      const reader = connect(socketPath);
      reader.write('GET /logs HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(reader, 'data');
      readers.push(reader);
    }
    assert.equal(outcomeOf(await call({ socketPath }, 'GET', '/logs')), '503 unavailable');
    for (const reader of readers) reader.destroy();
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Message, type MessageBus, sessionBus } from '@jellybrick/dbus-next';
import { destroyConnection, fittingVersion, forgetCall, onConnectionEnd } from './message-bus-socket.ts';

const packageFile = join(import.meta.dirname, '../package.json');

describe('the private fields of the D-Bus library', () => {
  it('belong to the version that is installed', async () => {
    const { dependencies } = JSON.parse(await readFile(packageFile, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    assert.equal(dependencies['@jellybrick/dbus-next'], fittingVersion);
  });

  it('report an orderly end, forget a call, and close the connection at once', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'message-bus-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const path = join(folder, 'bus');
    const server = createServer({ allowHalfOpen: true });
    stack.defer(() => void server.close());
    server.listen(path);
    await once(server, 'listening');
    const connect = async () => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const bus = sessionBus({ busAddress: `unix:path=${path}`, authMethods: ['EXTERNAL'] });
      bus.on('error', () => undefined);
      const [socket] = await accepted;
      socket.on('error', () => undefined).resume();
      return { bus, socket };
    };
    const left = await connect();
    const ended = Promise.withResolvers<void>();
    onConnectionEnd(left.bus, ended.resolve);
    left.socket.end();
    await ended.promise;
    destroyConnection(left.bus);
    const kept = await connect();
    const waitingCalls = (bus: MessageBus): number =>
      Object.keys((bus as unknown as { _methodReturnHandlers: object })._methodReturnHandlers).length;
    const before = waitingCalls(kept.bus);
    const message = new Message({ destination: 'a.b', path: '/', interface: 'a.b', member: 'C' });
    void kept.bus.call(message);
    assert.equal(waitingCalls(kept.bus), before + 1);
    forgetCall(kept.bus, message);
    assert.equal(waitingCalls(kept.bus), before);
    const closed = once(kept.socket, 'end');
    destroyConnection(kept.bus);
    await closed;
    kept.socket.destroy();
  });
});

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Type } from 'typebox';
import { WebSocketServer, type WebSocket } from 'ws';
import { createCloudSockets } from '../../../apps/backend/src/adapters/cloud-socket.ts';
import { gatherWrites } from '../../../apps/backend/src/adapters/gather-writes.ts';
import { createPeer, type Peer } from '../../../apps/backend/src/cloud/peer.ts';

export type Call = (value: number) => Promise<unknown>;
export type Library = 'cloud calls station' | 'station calls cloud' | 'jayson' | 'rpc-websockets';

/** The same little method everywhere. */
const Params = Type.Object({ deviceId: Type.String(), value: Type.Number() });
const answer = ({ value }: { value: number }): { value: number } => ({ value: value + 1 });
const paramsOf = (value: number) => ({ deviceId: '01890000-0000-7000-8000-000000000000', value });

/** Either end of ours: the library of the link with what the link puts around it. */
function ourPeer(send: (text: string) => void): Peer {
  const unexpected = (what: unknown): undefined => void process.stderr.write(`unexpected: ${JSON.stringify(what)}\n`);
  return createPeer({
    send,
    methods: { echo: { params: Params, run: async (params) => answer(params) } },
    isAuthenticated: () => true,
    onMessage: unexpected,
    onBatch: unexpected,
    onIgnored: unexpected,
    onFault: unexpected,
  });
}

async function ourServer(): Promise<{ port: number; peer: Promise<Peer> }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const connected = once(server, 'connection').then(([socket, request]) => {
    const { send, ...rest } = wrap(socket as WebSocket, gatherWrites((request as IncomingMessage).socket));
    const peer = ourPeer(send);
    rest.onText((text) => void peer.receive(text));
    return peer;
  });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, peer: connected };
}

const wrap = (socket: WebSocket, gather: () => void) => ({
  send: (text: string) => {
    gather();
    socket.send(text);
  },
  onText: (listener: (text: string) => void) =>
    socket.on('message', (data) => listener((data as Buffer).toString('utf8'))),
});

function ourClient(port: number): Promise<Peer> {
  const { promise, resolve, reject } = Promise.withResolvers<Peer>();
  const open = createCloudSockets({ url: `ws://127.0.0.1:${port}`, ca: null, pins: [] });
  const socket = open({
    onOpen: () => resolve(peer),
    onMessage: (text) => void peer.receive(text),
    onPong: () => undefined,
    onClose: ({ reason }) => reject(new Error(reason)),
  });
  const peer = ourPeer((text) => socket.send(text));
  return promise;
}

type Jayson = {
  Server: new (methods: object) => { websocket(options: object): unknown };
  Client: { websocket(options: { url: string }): JaysonClient };
};
type JaysonClient = {
  ws: WebSocket;
  request(method: string, params: object, done: (error: Error | null, response: unknown) => void): void;
};
type RpcWebsockets = {
  Server: new (options: object) => {
    register(name: string, method: (params: { value: number }) => unknown): void;
    on(event: string, listener: () => void): void;
  };
  Client: new (url: string) => {
    on(event: string, listener: () => void): void;
    call(method: string, params: object): Promise<unknown>;
  };
};
const peersOf = (folder: string) => createRequire(join(folder, 'x.js')) as <T>(name: string) => T;

/** In a process of its own: the end that answers. @returns the port it listens on; null when it calls out by itself to `port`. */
export async function answerCalls(library: Library, folder: string, port: number): Promise<number | null> {
  const load = peersOf(folder);
  switch (library) {
    case 'cloud calls station':
      await ourClient(port);
      return null;
    case 'station calls cloud':
      return (await ourServer()).port;
    case 'jayson': {
      const { Server } = load<Jayson>('jayson');
      const methods = {
        echo: (params: { value: number }, done: (error: null, result: unknown) => void) => done(null, answer(params)),
      };
      const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
      new Server(methods).websocket({ wss });
      await once(wss, 'listening');
      return (wss.address() as AddressInfo).port;
    }
    case 'rpc-websockets': {
      const { Server } = load<RpcWebsockets>('rpc-websockets');
      const server = new Server({ port, host: '127.0.0.1' });
      await new Promise<void>((resolve) => server.on('listening', resolve));
      server.register('echo', answer);
      return port;
    }
  }
}

/** The end that calls. @param start starts the other end, with the port to connect to or to listen on, and tells the one it listens on. */
export async function makeCalls(
  library: Library,
  folder: string,
  start: (port: number) => Promise<number | null>,
  findFreePort: () => Promise<number>,
): Promise<Call> {
  const load = peersOf(folder);
  const timeoutMs = 60_000;
  switch (library) {
    case 'cloud calls station': {
      const { port, peer } = await ourServer();
      await start(port);
      const connected = await peer;
      return (value) => connected.call('echo', paramsOf(value), timeoutMs);
    }
    case 'station calls cloud': {
      const peer = await ourClient((await start(0)) ?? 0);
      return (value) => peer.call('echo', paramsOf(value), timeoutMs);
    }
    case 'jayson': {
      const port = (await start(0)) ?? 0;
      const client = load<Jayson>('jayson').Client.websocket({ url: `ws://127.0.0.1:${port}` });
      await once(client.ws, 'open');
      return (value) =>
        new Promise((resolve, reject) =>
          client.request('echo', paramsOf(value), (error, response) => (error ? reject(error) : resolve(response))),
        );
    }
    case 'rpc-websockets': {
      const port = (await start(await findFreePort())) ?? 0;
      const client = new (load<RpcWebsockets>('rpc-websockets').Client)(`ws://127.0.0.1:${port}`);
      await new Promise<void>((resolve) => client.on('open', resolve));
      return (value) => client.call('echo', paramsOf(value));
    }
  }
}

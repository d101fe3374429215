import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Type } from 'typebox';
import { type WebSocket, WebSocketServer } from 'ws';
import { createCloudSockets, gatherWrites } from '../../../apps/backend/src/cloud/adapters/cloud-socket.ts';
import { createPeer } from '../../../apps/backend/src/cloud/peer.ts';

export type Call = (value: number) => Promise<unknown>;
export type Library = 'cloud calls station' | 'jayson' | 'rpc-websockets';

/** The same small method in each library. */
const Params = Type.Object({ deviceId: Type.String(), value: Type.Number() });
const answer = ({ value }: { value: number }): { value: number } => ({ value: value + 1 });
const paramsOf = (value: number) => ({ deviceId: '01890000-0000-7000-8000-000000000000', value });

/** The station's end: the link's socket and its JSON-RPC peer. */
function answerAsStation(port: number): Promise<void> {
  const unexpected = (what: unknown): undefined => void process.stderr.write(`unexpected: ${JSON.stringify(what)}\n`);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const open = createCloudSockets({ url: `ws://127.0.0.1:${port}`, ca: null, pins: [] });
  const socket = open({
    onOpen: resolve,
    onMessage: (text) => void peer.receive(text),
    onPong: () => undefined,
    onClose: ({ reason }) => reject(new Error(reason)),
  });
  const peer = createPeer({
    send: (text) => socket.send(text),
    methods: { echo: { params: Params, run: async (params) => answer(params) } },
    isAuthenticated: () => true,
    onMessage: unexpected,
    onIgnored: unexpected,
    onFault: unexpected,
  });
  return promise;
}

/** The cloud's end: a plain client that keeps its open calls in a map. */
async function listenAsCloud(): Promise<{ port: number; call: Promise<Call> }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const call = once(server, 'connection').then(([socket, request]): Call => {
    const connection = socket as WebSocket;
    const gather = gatherWrites((request as IncomingMessage).socket);
    const waiting = new Map<number, (result: unknown) => void>();
    connection.on('message', (data) => {
      const { id, result } = JSON.parse((data as Buffer).toString('utf8')) as { id: number; result: unknown };
      waiting.get(id)?.(result);
      waiting.delete(id);
    });
    let lastId = 0;
    return (value) =>
      new Promise((resolve) => {
        const id = ++lastId;
        waiting.set(id, resolve);
        gather();
        connection.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'echo', params: paramsOf(value) }));
      });
  });
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, call };
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

/**
 * Starts the end that answers, in its own process.
 * @returns its port; null when it connects to `port` itself.
 */
export async function answerCalls(library: Library, folder: string, port: number): Promise<number | null> {
  const load = peersOf(folder);
  switch (library) {
    case 'cloud calls station':
      await answerAsStation(port);
      return null;
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

/**
 * Creates the end that calls.
 * @param start starts the other end with the port to connect to or to listen on, and returns the port on which it
 * listens.
 */
export async function makeCalls(
  library: Library,
  folder: string,
  start: (port: number) => Promise<number | null>,
  findFreePort: () => Promise<number>,
): Promise<Call> {
  const load = peersOf(folder);
  switch (library) {
    case 'cloud calls station': {
      const { port, call } = await listenAsCloud();
      await start(port);
      return call;
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

// A program: many browsers that receive messages at almost no cost, and one that may stop reading. It is controlled
// over its channel.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { answerRequests } from './pinned.ts';

export type CrowdRequest =
  | { kind: 'open'; port: number; token: string; count: number }
  /** Opens one more browser. A `frozen` one reads nothing after `hello`. */
  | { kind: 'open-one'; port: number; token: string; frozen: boolean }
  /**
   * Lets the single browser read everything that waits for it, then closes it.
   * @returns {number} the bytes that it received in total.
   */
  | { kind: 'end-one' }
  | { kind: 'close' };

type Client = {
  socket: Socket;
  bytes(): number;
  send(message: object): void;
  /** @throws when the connection ends instead. */
  receive(text: string): Promise<void>;
};

let crowd: Client[] = [];
let one: Client | undefined;

answerRequests<CrowdRequest>(async (body) => {
  switch (body.kind) {
    case 'open':
      for (let opened = 0; opened < body.count; opened++) crowd.push(await openClient(body));
      return null;
    case 'open-one':
      one = await openClient(body);
      if (body.frozen) one.socket.pause();
      return null;
    case 'end-one':
      return endOne();
    case 'close':
      for (const { socket } of crowd) socket.destroy();
      crowd = [];
      return null;
  }
});

// Unsolicited pongs (RFC 6455, section 5.5.3), because pings are not parsed here. The frozen browser needs none in this
// short time.
setInterval(() => {
  for (const { socket } of crowd) socket.write(masked(0x8a, ''));
}, 10_000);

async function endOne(): Promise<number> {
  if (one === undefined) throw new Error('There is no single browser');
  const answered = one.receive('"type":"pong"');
  one.socket.resume();
  one.send({ type: 'ping' });
  await answered;
  one.socket.destroy();
  return one.bytes();
}

async function openClient({ port, token }: { port: number; token: string }): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  // `close` reports the end of the connection.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  let bytes = 0;
  let tail = '';
  let wanted: { text: string; resolve: () => void } | null = null;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (wanted === null) return;
    tail = (tail + chunk.toString('latin1')).slice(-chunk.length - wanted.text.length);
    if (tail.includes(wanted.text)) wanted.resolve();
  });
  const receive = async (text: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wanted = { text, resolve };
    const ended = once(socket, 'close').then(() => Promise.reject(new Error('The connection of a browser ended')));
    ended.catch(() => undefined);
    await Promise.race([promise, ended]);
    wanted = null;
    tail = '';
  };
  const send = (message: object): void => void socket.write(masked(0x81, JSON.stringify(message)));
  const upgraded = receive('\r\n\r\n');
  socket.write(
    [
      `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`,
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    ].join(''),
  );
  await upgraded;
  const hello = receive('"type":"hello"');
  send({ type: 'auth', token });
  await hello;
  return { socket, bytes: () => bytes, send, receive: receive };
}

/** A client's frame, with a mask of zeros (RFC 6455, sections 5.2 and 5.3). */
function masked(first: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), payload]);
}

import WebSocket from 'ws';
import type { ServerMessage } from '@station/protocol/socket';

/** A browser at `/ws` of one replica: it records messages and reconnects when it is closed. */
export type Watcher = AsyncDisposable & {
  messages: ServerMessage[];
  /** Codes of the closes, in order. */
  closes: number[];
  isIn(): boolean;
};

const againMs = 200;

export function watch(url: string, token: string): Watcher {
  const messages: ServerMessage[] = [];
  const closes: number[] = [];
  let socket: WebSocket;
  let isIn = false;
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const connect = (): void => {
    socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as ServerMessage;
      if (message.type === 'hello') isIn = true;
      messages.push(message);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      if (isIn) closes.push(code);
      isIn = false;
      if (!isEnded) timer = setTimeout(connect, againMs);
    });
  };
  connect();
  return {
    messages: messages,
    closes,
    isIn: () => isIn,
    [Symbol.asyncDispose]: async () => {
      isEnded = true;
      clearTimeout(timer);
      socket.terminate();
    },
  };
}

import { createConnection } from 'node:net';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { until } from './agent.ts';

/** A program of the machine that reads and writes one JSON object a line, behind a forwarded TCP port. */
export type JsonLines<Out, In> = Disposable & {
  send(message: Out): void;
  /** A line as it is, whatever it is. */
  sendText(line: string): void;
  /** Everything that came, oldest first. */
  received: readonly In[];
  /**
   * Waits for a message that came at or after this index of `received`.
   * @throws after `timeoutMs`, with the last messages.
   */
  next<T extends In>(what: string, isIt: (message: In) => message is T, options: Waiting): Promise<T>;
  next(what: string, isIt: (message: In) => boolean, options: Waiting): Promise<In>;
  /** Whether the program has closed the connection. */
  isClosed(): boolean;
};
type Waiting = { from: number; timeoutMs?: number };

/** Node takes half a minute to start on the emulated processor of a machine with much else to do. */
const startMs = 90_000;

/** Connects, again and again until the program answers by its first message. @throws after three minutes. */
export async function connectJsonLines<Out, In>(port: number): Promise<JsonLines<Out, In>> {
  const connect = async (): Promise<JsonLines<Out, In> | null> => {
    const lines = await open<Out, In>(port);
    const isDecided = (): Promise<boolean> => Promise.resolve(lines.received.length > 0 || lines.isClosed());
    await until('a first message', isDecided, { timeoutMs: startMs, pauseMs: 20 }).catch(() => undefined);
    if (lines.received.length > 0 && !lines.isClosed()) return lines;
    lines[Symbol.dispose]();
    return null;
  };
  return (await until(`a program on port ${port}`, connect, { timeoutMs: 2 * startMs, pauseMs: 200 })).value;
}

async function open<Out, In>(port: number): Promise<JsonLines<Out, In>> {
  const socket = createConnection(port, '127.0.0.1');
  await once(socket, 'connect');
  const received: In[] = [];
  // Errors of the socket come here, too.
  const lines = createInterface({ input: socket }).on('error', () => undefined);
  lines.on('line', (line) => received.push(JSON.parse(line) as In));
  socket.on('error', () => undefined);
  return {
    send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    sendText: (line) => void socket.write(`${line}\n`),
    received,
    next: async (what: string, isIt: (message: In) => boolean, { from, timeoutMs = 60_000 }: Waiting) => {
      const find = (): Promise<In | undefined> => Promise.resolve(received.slice(from).find(isIt));
      const describe = (): Promise<string> =>
        Promise.resolve(
          received
            .slice(-20)
            .map((message) => JSON.stringify(message))
            .join('\n'),
        );
      return (await until(what, find, { timeoutMs, pauseMs: 20, describe })).value;
    },
    isClosed: () => socket.destroyed || socket.readableEnded,
    [Symbol.dispose]: () => socket.destroy(),
  };
}

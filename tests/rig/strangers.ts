import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const compose = join(import.meta.dirname, '../../deploy/docker-compose.yml');

/** Memory limit of a service of the stack, megabytes (10^6 bytes are none: MiB). */
export async function limitOf(service: string): Promise<number> {
  const text = await readFile(compose, 'utf8');
  const limit = new RegExp(`^  ${service}:\\n(?:    .*\\n|\\n)*?    mem_limit: (\\d+)m$`, 'm').exec(text)?.[1];
  if (limit === undefined) throw new Error(`${compose} has no memory limit of ${service}`);
  return Number(limit);
}

/** Largest resident memory of a process so far, MiB. @throws when it has ended. */
export async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

/** What a caller sends who never ends it. */
export type Unfinished = { head: string | Buffer; body?: Buffer };

export const halfRequest = (
  line: string,
  { host, bytes, sent, headers = {} }: { host: string; bytes: number; sent: number; headers?: Record<string, string> },
): Unfinished => {
  const all = { host, 'content-type': 'application/json', 'content-length': String(bytes), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return { head: `${line} HTTP/1.1\r\n${lines.join('')}\r\n`, body: Buffer.alloc(sent, 0x20) };
};

/** A WebSocket that sends most of a message of 1 MiB and never logs in. */
export const halfMessage = (host: string): Unfinished => {
  const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
  const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`;
  const head = ['GET /ws HTTP/1.1', `Host: ${host}`, ...upgrade, key, '', ''].join('\r\n');
  // A masked text frame (RFC 6455, section 5.2) whose mask is 0.
  const frame = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
  return { head, body: Buffer.concat([frame, Buffer.alloc(100_000, 0x20)]) };
};

/** CONNECT (MQTT 3.1.1, section 3.1) of 300 kB, of which the last byte is missing. */
export const halfConnect = (): Unfinished => {
  const bytes = 300_000;
  const start = Buffer.from([0, 4, 77, 81, 84, 84, 4, 0xc2, 0, 60, 0xfd, 0xe8]);
  const length = [(bytes % 128) | 0x80, (Math.floor(bytes / 128) % 128) | 0x80, Math.floor(bytes / 16_384)];
  return { head: Buffer.from([0x10, ...length]), body: Buffer.concat([start, Buffer.alloc(bytes - start.length - 1)]) };
};

export type Flood = AsyncDisposable & {
  /** How many connections were made. */
  opened(): number;
};

/**
 * Holds many connections that never end what they send; each that is ended is made again at once.
 * @returns when all were made once.
 */
export async function flood(to: NetConnectOpts, count: number, { head, body }: Unfinished): Promise<Flood> {
  const held = new Set<Socket>();
  let opened = 0;
  let isOver = false;
  const hold = async (): Promise<void> => {
    while (!isOver) {
      const socket = connect(to);
      held.add(socket);
      socket.on('error', () => undefined);
      socket.resume();
      const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
      await Promise.race([once(socket, 'connect').catch(() => undefined), ended]);
      opened += 1;
      socket.write(head);
      if (body !== undefined) socket.write(body);
      await ended;
      held.delete(socket);
      // The attacker shares the processor with what it attacks.
      await sleep(50);
    }
  };
  const holding: Promise<void>[] = [];
  for (let started = 0; started < count; started += 1) {
    holding.push(hold());
    if (started % 50 === 49) await sleep(20);
  }
  while (opened < count) await sleep(20);
  return {
    opened: () => opened,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      for (const socket of held) socket.destroy();
      await Promise.all(holding);
    },
  };
}

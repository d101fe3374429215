import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Installation } from './installation.ts';

export type Watcher = AsyncDisposable & {
  /** Statuses other than "online", from /ws and the database; empty when there are none. */
  seen: string[];
  /** Whether it is logged in at /ws now. */
  isListening(): boolean;
  /** Number of reads of the database. */
  looks(): number;
};

/** Watches which devices are shown as offline: at /ws, where it reconnects, and in the database, ten times a second. */
export async function watchStatuses(station: Installation): Promise<Watcher> {
  const token = await station.logIn();
  const seen: string[] = [];
  let socket: WebSocket | null = null;
  let isListening = false;
  let isEnding = false;
  let looks = 0;

  const listen = (): void => {
    const opened = new WebSocket(`${station.url.replace('http', 'ws')}/ws`);
    socket = opened;
    opened.on('error', () => undefined);
    opened.on('open', () => opened.send(JSON.stringify({ type: 'auth', token })));
    opened.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as { type: string; status?: string; deviceId?: string };
      if (message.type === 'hello') isListening = true;
      if (message.type === 'device_status' && message.status !== 'online') {
        seen.push(`/ws: ${message.deviceId} ${message.status}`);
      }
    });
    opened.on('close', () => {
      isListening = false;
      if (!isEnding) setTimeout(listen, 100);
    });
  };
  listen();

  const watch = async (): Promise<void> => {
    while (!isEnding) {
      const rows = await station.query<{ id: string; status: string }>(
        `select id, status from devices where status <> 'online'`,
      );
      looks += 1;
      for (const { id, status } of rows) seen.push(`database: ${id} ${status}`);
      await sleep(100);
    }
  };
  const watching = watch();
  return {
    seen,
    isListening: () => isListening,
    looks: () => looks,
    [Symbol.asyncDispose]: async () => {
      isEnding = true;
      socket?.terminate();
      await watching;
    },
  };
}

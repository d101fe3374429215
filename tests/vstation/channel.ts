import { createConnection } from 'node:net';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { JobResult } from '../rig/guest.ts';

/** Commands for the guest over a virtio serial port (`guest/usr/local/sbin/vstation-channel` is the other end). */
export type Channel = {
  /** Resolves when the guest takes commands; with its uptime in seconds. */
  ready: Promise<number>;
  /**
   * Runs a bash script in the guest; several may run at once. Code 124: it was stopped after `timeoutMs`.
   * @throws when the machine ends, or is silent for 30 s beyond the time.
   */
  run(script: string, timeoutMs: number): Promise<JobResult>;
  close(): void;
};

type Waiting = { resolve: (result: JobResult) => void; reject: (error: Error) => void; timer: NodeJS.Timeout };

const silenceMs = 30_000;

/** @param socketPath Unix socket of QEMU's end of the port. */
export async function openChannel(socketPath: string): Promise<Channel> {
  const socket = createConnection(socketPath);
  await once(socket, 'connect');
  const waiting = new Map<string, Waiting>();
  let nextId = 1;
  const isReady = Promise.withResolvers<number>();
  // Who waits for it learns of it; nobody may be waiting.
  isReady.promise.catch(() => undefined);
  createInterface({ input: socket }).on('line', (line) => {
    const [id = '', code = '', stdout = '', stderr = ''] = line.split(' ');
    if (id === 'ready') return isReady.resolve(Number(code));
    const job = waiting.get(id);
    waiting.delete(id);
    clearTimeout(job?.timer);
    job?.resolve({ code: Number(code), stdout: decoded(stdout), stderr: decoded(stderr) });
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    const gone = new Error('the virtual station has ended');
    isReady.reject(gone);
    for (const job of waiting.values()) {
      clearTimeout(job.timer);
      job.reject(gone);
    }
    waiting.clear();
  });
  return {
    ready: isReady.promise,
    run: (script, timeoutMs) => {
      const id = String(nextId++);
      return new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the virtual station has ended'));
        const giveUp = (): void => {
          waiting.delete(id);
          reject(new Error(`the virtual station is silent; it was to run: ${script.slice(0, 200)}`));
        };
        waiting.set(id, { resolve, reject, timer: setTimeout(giveUp, timeoutMs + silenceMs) });
        socket.write(`${id} ${Math.ceil(timeoutMs / 1000)} ${Buffer.from(script).toString('base64')}\n`);
      });
    },
    close: () => socket.destroy(),
  };
}

const decoded = (text: string): string => (text === '=' ? '' : Buffer.from(text, 'base64').toString());

import { renameSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The time of a house: programs that are started with `env` see it, and it passes only in steps. */
export type HouseTime = AsyncDisposable & {
  /** Of a program that the house starts. `stay`: its children are services, which do not hold the time. */
  env(children?: 'stay'): Record<string, string>;
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** One step. Resolves when each program has done what was due. */
  pass(ms: number): Promise<void>;
};

const program = import.meta.resolve('./stepped-time.ts');
/** A program that does not answer for so long hangs. */
const hangMs = 180_000;

export async function createHouseTime(folder: string, wallMs: number): Promise<HouseTime> {
  await mkdir(folder, { recursive: true });
  let wall = wallMs;
  let steady = 1_000_000;
  const tell = (): void => {
    writeFileSync(join(folder, 'time.new'), `${wall} ${steady}`);
    renameSync(join(folder, 'time.new'), join(folder, 'time'));
  };
  tell();
  const programs = new Map<Socket, () => void>();
  const server = createServer((socket) => {
    programs.set(socket, () => undefined);
    const leave = (): void => {
      programs.get(socket)?.();
      programs.delete(socket);
    };
    // A program that is killed resets its connection, and the reader of lines tells that as well.
    createInterface({ input: socket })
      .on('line', () => programs.get(socket)?.())
      .on('error', leave);
    socket.on('error', leave).on('close', leave);
  });
  server.listen(join(folder, 'steps.sock'));
  await once(server, 'listening');
  return {
    env: (children) => ({
      HOUSE_TIME: folder,
      NODE_OPTIONS: `--import ${program}`,
      ...(children === undefined ? {} : { HOUSE_CHILDREN: children }),
    }),
    now: () => wall,
    pass: async (ms) => {
      wall += ms;
      steady += ms;
      tell();
      const answers = [...programs.keys()].map((socket) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        programs.set(socket, resolve);
        socket.write(`${wall} ${steady}\n`);
        return promise;
      });
      const { promise: late, reject } = Promise.withResolvers<never>();
      const hang = setTimeout(() => reject(new Error(`a program hangs at ${new Date(wall).toISOString()}`)), hangMs);
      await Promise.race([Promise.all(answers), late]).finally(() => clearTimeout(hang));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of programs.keys()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

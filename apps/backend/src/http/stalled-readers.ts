import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { every } from '@station/kit/timers';

/** Slower than any connection that is of use: 2 KiB a second. */
const defaults = { checkMs: 30_000, leastBytes: 64 * 1024 };

/** Ends the connection of whoever does not read a large answer or a stream: it holds memory, and a turn of the others. */
export function endStalledReaders(app: FastifyInstance, limits: Partial<typeof defaults> = {}): void {
  const { checkMs, leastBytes } = { ...defaults, ...limits };
  app.addHook('onSend', async (_request, reply, payload) => {
    const isLarge = isStream(payload) || lengthOf(payload) > leastBytes;
    if (isLarge && !reply.raw.destroyed) watch(reply.raw, checkMs, leastBytes);
  });
}

export const isStream = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload && typeof payload.pipe === 'function';

const lengthOf = (payload: unknown): number =>
  typeof payload === 'string' || payload instanceof Uint8Array ? payload.length : 0;

/** A reader that waits for the station is none: only what waits for the reader counts. */
function watch(response: ServerResponse, checkMs: number, leastBytes: number): void {
  let before = takenBytes(response);
  const checking = every(checkMs, () => {
    const taken = takenBytes(response);
    if (response.writableLength > 0 && taken - before < leastBytes) response.destroy();
    before = taken;
  });
  response.once('close', () => checking[Symbol.dispose]());
}

/** What the kernel took: it takes more only when the reader reads. */
const takenBytes = ({ socket }: ServerResponse): number => (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);

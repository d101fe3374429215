import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { onceClosed } from '@station/kit/once-closed';
import { every } from '@station/kit/timers';

/** Slower than any connection that is of use: 2 KiB a second. */
const defaults = { checkMs: 30_000, leastBytes: 64 * 1024 };

/**
 * Ends the connection of whoever does not read its answers: a large one or a stream holds memory, and a turn of the others; of small ones
 * as many as fill the buffers of the system keep the connection open for ever.
 */
export function endStalledReaders(app: FastifyInstance, limits: Partial<typeof defaults> = {}): void {
  const { checkMs, leastBytes } = { ...defaults, ...limits };
  app.addHook('onSend', async (_request, reply) => watch(reply.raw, checkMs, leastBytes));
}

export const isStream = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload && typeof payload.pipe === 'function';

/** A reader that waits for the station is none: only what waits for the reader counts. */
function watch(response: ServerResponse, checkMs: number, leastBytes: number): void {
  let before = takenBytes(response);
  const checking = every(checkMs, () => {
    const taken = takenBytes(response);
    // Without a socket it waits behind another answer, which is watched too.
    if (response.socket !== null && response.writableLength > 0 && taken - before < leastBytes) response.destroy();
    before = taken;
  });
  onceClosed(response, () => checking[Symbol.dispose]());
}

/** What the kernel took: it takes more only when the reader reads. */
const takenBytes = ({ socket }: ServerResponse): number => (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);

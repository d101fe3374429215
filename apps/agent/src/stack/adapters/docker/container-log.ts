import { StringDecoder } from 'node:string_decoder';
import { StationError } from '@station/kit/station-error';
import type { OnLine, ServiceLine } from '../../../core/operator-ports.ts';
import { containersOf } from './containers.ts';
import { type EngineApi, messageOf } from './engine-api.ts';

/** Follows the log of the first container of a service (Engine API, ContainerLogs). */
export async function followContainerLog(
  api: EngineApi,
  project: string,
  { service, since, lines }: { service: string; since: number | null; lines: number },
  onLine: OnLine<ServiceLine>,
  signal: AbortSignal,
): Promise<void> {
  const [container] = await containersOf(api, project, service);
  if (!container) return;
  const reader = createLogReader();
  const query = {
    follow: 'true',
    stdout: 'true',
    stderr: 'true',
    timestamps: 'true',
    ...(since === null ? { tail: String(lines) } : { since: (since / 1000).toFixed(3) }),
  };
  const onChunk = async (chunk: Buffer): Promise<void> => {
    for (const line of reader(chunk)) await onLine(line);
  };
  const { status, body } = await api.follow(`/containers/${container.Id}/logs`, onChunk, { query, signal });
  // It was removed between the two calls.
  if (status === 200 || status === 404) return;
  const cause = new Error(messageOf(body));
  throw new StationError('unavailable', `the engine has no log of the service "${service}"`, { cause });
}

const headBytes = 8;
/** A longer line is cut. */
const longestLine = 8192;

/**
 * Reads the lines of a log, with the time before each. Without a terminal the engine sends frames: a byte for the stream, three zeros,
 * the length of the payload (Engine API, ContainerAttach). A long line comes in several frames.
 */
export function createLogReader(): (chunk: Uint8Array) => ServiceLine[] {
  const streams = new Map<number, (bytes: Uint8Array) => ServiceLine[]>();
  let isFramed: boolean | null = null;
  let head: Buffer = Buffer.alloc(0);
  let stream = 0;
  let left = 0;
  const linesOf = (id: number, bytes: Uint8Array): ServiceLine[] => {
    const split = streams.get(id) ?? createSplitter();
    streams.set(id, split);
    return split(bytes);
  };
  return (chunk) => {
    isFramed ??= (chunk[0] ?? 0) <= 2;
    if (!isFramed) return linesOf(0, chunk);
    const lines: ServiceLine[] = [];
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const bytes = chunk.subarray(at, at + left);
        at += bytes.length;
        left -= bytes.length;
        lines.push(...linesOf(stream, bytes));
        continue;
      }
      const more = chunk.subarray(at, at + headBytes - head.length);
      at += more.length;
      head = Buffer.concat([head, more]);
      if (head.length < headBytes) break;
      stream = head.readUInt8(0);
      left = head.readUInt32BE(4);
      head = Buffer.alloc(0);
    }
    return lines;
  };
}

function createSplitter(): (bytes: Uint8Array) => ServiceLine[] {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (bytes) => {
    const parts = (rest + decoder.write(Buffer.from(bytes))).split('\n');
    rest = (parts.pop() ?? '').slice(0, longestLine);
    return parts.flatMap((part) => lineOf(part) ?? []);
  };
}

/** `2026-03-01T12:00:00.123456789Z text`; null: it is none. */
function lineOf(part: string): ServiceLine | null {
  const [, time, text] = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (.*)$/.exec(part.replace(/\r$/, '')) ?? [];
  return time === undefined || text === undefined ? null : { time, text: text.slice(0, longestLine) };
}

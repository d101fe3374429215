import { HelperCommand, maxLineBytes } from '@station/protocol/ble-frames';
import { Value } from 'typebox/value';

/** Why a line is ignored. Never contains the line. */
type Fault = 'longer than 64 KiB' | 'not UTF-8' | 'not JSON' | 'not a command' | 'a command with invalid fields';

/**
 * Reads commands from a stream of bytes, one JSON object a line. A line that is no command is reported and skipped. Holds at most one line
 * of `maxLineBytes` in memory.
 */
export function createFrameReader(options: {
  onCommand: (command: HelperCommand) => void;
  onFault: (fault: Fault) => void;
}): { push(chunk: Uint8Array): void } {
  const { onCommand, onFault } = options;
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const take = (part: Uint8Array): void => {
    bytes += part.length;
    // The start of a line that is too long is not kept.
    if (bytes > maxLineBytes) parts = [];
    // A copy: a view would keep the whole chunk in memory.
    else if (part.length > 0) parts.push(part.slice());
  };
  const end = (): void => {
    const read = bytes > maxLineBytes ? 'longer than 64 KiB' : readLine(parts);
    parts = [];
    bytes = 0;
    if (typeof read === 'string') onFault(read);
    else if (read !== null) onCommand(read);
  };
  return {
    push: (chunk) => {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        take(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      take(chunk.subarray(from));
    },
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns null for a blank line. */
function readLine(parts: readonly Uint8Array[]): HelperCommand | Fault | null {
  const decoded = attempt(() => utf8.decode(Buffer.concat(parts)));
  if (decoded === null) return 'not UTF-8';
  if (decoded.value.trim() === '') return null;
  const parsed = attempt((): unknown => JSON.parse(decoded.value));
  if (parsed === null) return 'not JSON';
  if (Value.Check(HelperCommand, parsed.value)) return parsed.value;
  return isKnown(parsed.value) ? 'a command with invalid fields' : 'not a command';
}

function attempt<T>(read: () => T): { value: T } | null {
  try {
    return { value: read() };
  } catch {
    return null;
  }
}

const known: readonly unknown[] = ['start_scan', 'stop_scan', 'connect_and_write'] satisfies HelperCommand['event'][];

const isKnown = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'event' in value && known.includes(value.event);

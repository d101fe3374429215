import type { HelperEvent, HelperNote } from '@station/protocol/ble-frames';

/** The part of a stream that is used. `write` returns false when the other end does not keep up. */
type Output = { write(text: string): boolean; once(event: 'drain', listener: () => void): unknown };

export type FrameWriter = {
  send(event: HelperEvent): void;
  /** Number of frames that wait for the other end. */
  waiting(): number;
};

/** More devices than this do not wait for a backend that does not read: the oldest are dropped. */
const maxWaitingDevices = 500;

/**
 * Writes frames, one JSON object a line. While the other end does not read, a newer `discovered` of an address replaces the older one, and
 * of `scan_started` and `scan_stopped` only the last is kept. Write results are never dropped.
 */
export function createFrameWriter(output: Output): FrameWriter {
  // In the order of insertion: by key for frames that replace each other.
  const queue = new Map<string, HelperEvent>();
  let isBlocked = false;
  let sent = 0;
  const write = (event: HelperEvent): void => {
    if (output.write(`${JSON.stringify(event)}\n`)) return;
    isBlocked = true;
    output.once('drain', () => {
      isBlocked = false;
      for (const [key, next] of queue) {
        if (isBlocked) return;
        queue.delete(key);
        write(next);
      }
    });
  };
  return {
    send: (event) => {
      if (!isBlocked) return write(event);
      const key = keyOf(event) ?? `${sent++}`;
      queue.delete(key);
      queue.set(key, event);
      if (queue.size <= maxWaitingDevices || event.event !== 'discovered') return;
      const oldest = queue.keys().find((one) => one.startsWith('discovered '));
      if (oldest !== undefined) queue.delete(oldest);
    },
    waiting: () => queue.size,
  };
}

function keyOf(event: HelperEvent): string | null {
  if (event.event === 'discovered') return `discovered ${event.address}`;
  return event.event === 'scan_started' || event.event === 'scan_stopped' ? 'scan' : null;
}

/** Writes notes, one JSON object a line. Notes are dropped while nobody reads them, except the latest state of the radio. */
export function createNoteWriter(output: Output): (note: HelperNote) => void {
  let isBlocked = false;
  let latest: HelperNote | null = null;
  const write = (note: HelperNote): void => {
    if (isBlocked) {
      if (note.note === 'radio') latest = note;
      return;
    }
    isBlocked = !output.write(`${JSON.stringify(note)}\n`);
    if (!isBlocked) return;
    output.once('drain', () => {
      isBlocked = false;
      const kept = latest;
      latest = null;
      if (kept !== null) write(kept);
    });
  };
  return write;
}

import { textFrames } from './adapters/web-sockets.ts';
import type { Audience } from './audience-decide.ts';

/** The part of a connection that sending needs. */
export type SendingSocket = {
  /** Bytes that the kernel has not accepted yet. */
  readonly bufferedAmount: number;
  write(frames: Buffer, done: (error?: Error | null) => void): void;
};

/** A message ready to go to any number of clients. */
export type Outgoing = {
  text: string;
  bytes: number;
  /** A later message with the same key replaces this one; null: nothing replaces it. */
  key: string | null;
  audience: Audience;
};

/** Messages in order, and their bytes on the wire. */
export type Batch = { messages: readonly Outgoing[]; frames: Buffer };

type Outbox = {
  send(batch: Batch): void;
  /** Bytes that wait in the socket and in the outbox. */
  backlogBytes(): number;
  clear(): void;
};

/** Contracts, section 10. */
export const coalesceAtBytes = 1024 * 1024;
export const closeAtBytes = 8 * 1024 * 1024;
/** Only a single message may be larger. The backlog of a client is checked between batches. */
const maxBatchBytes = 64 * 1024;

/**
 * Sends to one client. A slow client delays no other one and has limited memory: from 1 MiB of backlog on, messages wait here and only the
 * latest of each key is kept; at 8 MiB `onOverflow` is called, once.
 */
export function createOutbox(socket: SendingSocket, onOverflow: () => void): Outbox {
  // In order of the first arrival of each key; messages without a key get a number.
  const held = new Map<string | number, Outgoing>();
  let heldBytes = 0;
  let nextUnkeyed = 0;
  let overflowed = false;

  // Keeps the message only, not the bytes of its whole batch.
  const hold = (message: Outgoing): void => {
    const key = message.key ?? nextUnkeyed++;
    heldBytes += message.bytes - (held.get(key)?.bytes ?? 0);
    held.set(key, message);
  };

  const takeHeld = (): Outgoing[] => {
    const taken: Outgoing[] = [];
    let bytes = 0;
    for (const [key, message] of held) {
      if (taken.length > 0 && bytes + message.bytes > maxBatchBytes) break;
      held.delete(key);
      taken.push(message);
      bytes += message.bytes;
    }
    heldBytes -= bytes;
    return taken;
  };

  const onWritten = (): void => {
    while (held.size > 0 && socket.bufferedAmount < coalesceAtBytes) socket.write(textFrames(takeHeld()), onWritten);
  };

  const backlogBytes = (): number => socket.bufferedAmount + heldBytes;

  return {
    backlogBytes,
    send: ({ messages, frames }) => {
      if (overflowed) return;
      if (held.size === 0 && socket.bufferedAmount < coalesceAtBytes) socket.write(frames, onWritten);
      else messages.forEach(hold);
      if (backlogBytes() < closeAtBytes) return;
      overflowed = true;
      onOverflow();
    },
    clear: () => {
      held.clear();
      heldBytes = 0;
    },
  };
}

export function outgoing(message: object, key: string | null = null, audience: Audience = 'whole'): Outgoing {
  const text = JSON.stringify(message);
  return { text, bytes: Buffer.byteLength(text), key, audience };
}

export const batchOf = (messages: readonly Outgoing[]): Batch => ({ messages, frames: textFrames(messages) });

/** The messages in as few batches as possible. */
export function* batchesOf(messages: readonly Outgoing[]): Generator<Batch> {
  let start = 0;
  let bytes = 0;
  for (const [index, message] of messages.entries()) {
    if (index > start && bytes + message.bytes > maxBatchBytes) {
      yield batchOf(messages.slice(start, index));
      start = index;
      bytes = 0;
    }
    bytes += message.bytes;
  }
  if (start < messages.length) yield batchOf(messages.slice(start));
}

/** The part of a WebSocket that sending needs (as of `ws`). */
export type SendingSocket = {
  /** Bytes handed over and not yet taken by the kernel. */
  readonly bufferedAmount: number;
  send(text: string, done: (error?: Error) => void): void;
};

/** A message ready to go to any number of clients. */
export type Outgoing = {
  text: string;
  bytes: number;
  /** A later message of the same key makes this one needless; null keeps it. */
  key: string | null;
};

export type Outbox = {
  send(message: Outgoing): void;
  /** Bytes that wait, in the socket and here. */
  backlogBytes(): number;
  clear(): void;
};

/** Contracts, section 10. */
export const coalesceAtBytes = 1024 * 1024;
export const closeAtBytes = 8 * 1024 * 1024;

/**
 * Sends to one client without letting it slow anyone else down or fill the memory: from 1 MiB of backlog on, messages wait here and only
 * the latest of each key is kept; at 8 MiB `onOverflow` is called, once.
 */
export function createOutbox(socket: SendingSocket, onOverflow: () => void): Outbox {
  // In order of the first arrival of each key; a number stands for a message without one.
  const held = new Map<string | number, Outgoing>();
  let heldBytes = 0;
  let nextUnkeyed = 0;
  let overflowed = false;

  const write = ({ text }: Outgoing): void => socket.send(text, onWritten);

  const hold = (message: Outgoing): void => {
    const key = message.key ?? nextUnkeyed++;
    heldBytes += message.bytes - (held.get(key)?.bytes ?? 0);
    held.set(key, message);
  };

  const onWritten = (): void => {
    while (held.size > 0 && socket.bufferedAmount < coalesceAtBytes) {
      const [key, message] = held.entries().next().value!;
      held.delete(key);
      heldBytes -= message.bytes;
      write(message);
    }
  };

  const backlogBytes = (): number => socket.bufferedAmount + heldBytes;

  return {
    backlogBytes,
    send: (message) => {
      if (overflowed) return;
      if (held.size === 0 && socket.bufferedAmount < coalesceAtBytes) write(message);
      else hold(message);
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

export function outgoing(message: object, key: string | null = null): Outgoing {
  const text = JSON.stringify(message);
  return { text, bytes: Buffer.byteLength(text), key };
}

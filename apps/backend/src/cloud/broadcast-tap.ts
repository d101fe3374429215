import type { ServerMessage } from '@station/protocol/socket';
import type { SocketHub } from '../socket/hub.ts';

/** Hears what is told to everyone at `/ws`, also while nobody is there. */
export type BroadcastTap = {
  /** The hub with the tap on it. */
  on(hub: SocketHub): SocketHub;
  subscribe(listener: (message: ServerMessage) => void): Disposable;
};

export function createBroadcastTap(): BroadcastTap {
  const listeners = new Set<(message: ServerMessage) => void>();
  return {
    on: (hub) => ({
      ...hub,
      broadcast: (message, key) => {
        hub.broadcast(message, key);
        for (const listener of listeners) listener(message);
      },
    }),
    subscribe: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

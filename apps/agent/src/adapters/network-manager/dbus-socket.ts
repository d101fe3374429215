import type { EventEmitter } from 'node:events';
import type { MessageBus } from '@jellybrick/dbus-next';

/**
 * The version of the library whose private fields this file reads. It tells nobody of an orderly end of its connection, and ends it
 * only in order: whoever does not read any more would keep it half open.
 */
export const fittingVersion = '0.11.3';

type Connection = EventEmitter & { stream?: { destroy(): void } };

/** @throws when the library has no such field: then it is another version than the one this file fits. */
function connectionOf(bus: MessageBus): Connection {
  const { _connection } = bus as unknown as { _connection?: Connection };
  if (_connection === undefined) throw new Error(`the D-Bus library is not version ${fittingVersion}`);
  return _connection;
}

/** Calls `listener` when the other end has closed the connection in order. */
export const onConnectionEnd = (bus: MessageBus, listener: () => void): void =>
  void connectionOf(bus).on('end', listener);

/** Closes the connection at once. */
export const destroyConnection = (bus: MessageBus): void => connectionOf(bus).stream?.destroy();

import type { EventEmitter } from 'node:events';
import type { MessageBus } from '@jellybrick/dbus-next';

/**
 * The version of the library whose private fields this file reads. The library does not report an orderly end of its connection, and
 * closes it only in order: a peer that stops reading would keep it half open.
 */
export const fittingVersion = '0.11.3';

type Connection = EventEmitter & { stream?: { destroy(): void } };

/** @throws when the library has no such field: then its version does not match this file. */
function connectionOf(bus: MessageBus): Connection {
  const { _connection } = bus as unknown as { _connection?: Connection };
  if (_connection === undefined) throw new Error(`the D-Bus library is not version ${fittingVersion}`);
  return _connection;
}

/** Calls `listener` when the other end has closed the connection in an orderly way. */
export const onConnectionEnd = (bus: MessageBus, listener: () => void): void =>
  void connectionOf(bus).on('end', listener);

/** Closes the connection at once. */
export const destroyConnection = (bus: MessageBus): void => connectionOf(bus).stream?.destroy();

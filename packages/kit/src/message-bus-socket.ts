import type { EventEmitter } from 'node:events';
import type { Message, MessageBus } from '@jellybrick/dbus-next';

/**
 * The version of the library whose private fields this file reads. The library does not report an orderly end of its connection, and
 * closes it only in order: a peer that stops reading would keep it half open.
 */
export const fittingVersion = '0.11.3';

type Stream = { destroy(): void; write(data: string | Uint8Array): boolean };
type Connection = EventEmitter & { stream?: Stream; _wireStream?: (stream: Stream) => void };

/** For `authenticateBySocket`: the library tries one after the other and writes a line for each. */
export const authMethods: ['EXTERNAL', 'EXTERNAL'] = ['EXTERNAL', 'EXTERNAL'];
/** D-Bus specification, "EXTERNAL": without an identity the server takes that of the socket. Its answer to the first line is `DATA`. */
const authLines = ['AUTH EXTERNAL\r\n', 'DATA\r\n'];

/**
 * Lets the bus take the identity of the socket instead of the user id that this process sees: behind `xdg-dbus-proxy`, and in a user
 * namespace, the two differ. Call it right after the bus was made, with `authMethods`.
 */
export function authenticateBySocket(bus: MessageBus): void {
  const connection = connectionOf(bus);
  const wire = connection._wireStream?.bind(connection);
  if (wire === undefined) throw new Error(`the D-Bus library is not version ${fittingVersion}`);
  connection._wireStream = (stream) => {
    const write = stream.write.bind(stream);
    const lines = [...authLines];
    stream.write = (data) => {
      if (typeof data !== 'string' || !data.startsWith('AUTH ')) return write(data);
      return write(lines.shift() ?? data);
    };
    wire(stream);
  };
}

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

/** Forgets a call: the library keeps one that gets no answer for as long as the connection lasts. */
export function forgetCall(bus: MessageBus, { serial }: Message): void {
  const { _methodReturnHandlers: waiting } = bus as unknown as { _methodReturnHandlers?: Record<number, unknown> };
  if (waiting === undefined) throw new Error(`the D-Bus library is not version ${fittingVersion}`);
  if (serial !== null) delete waiting[serial];
}

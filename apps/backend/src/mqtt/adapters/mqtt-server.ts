import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Aedes, type AedesOptions, type Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import { createByteBudget } from '@station/kit/byte-budget';
import { networkOf } from '../../core/client-network.ts';

export type MqttServerOptions = {
  broker: Pick<Aedes, 'handle' | 'on'>;
  host: string;
  /** 0 takes a free port. */
  port: number;
  maxConnections: number;
  /** Largest packet with its topic and header. */
  maxPacketBytes: number;
  /** A client that has logged in sent a larger one. */
  onTooLarge: () => void;
  /** A connection ended before its log-in. */
  onRefused: (reason: 'too_large' | 'too_many_connections', address: string) => void;
  /** An error that does not belong to one connection. */
  onError: (error: unknown) => void;
};

/** Disposing stops accepting connections, and resolves when the broker has ended the existing ones. */
export type MqttServer = AsyncDisposable & {
  /** `mqtt://host:port`. */
  address: string;
  isListening(): boolean;
};

/** Before its log-in a connection sends this much in all: a CONNECT packet. */
const maxBytesBeforeLogIn = 4096;
/** What such a connection may take: the system delivers up to 64 KiB at once. */
const waitingBytes = 64 * 1024;
/** 512 connections that have not logged in, 256 of one network. One more ends the one that waits longest. */
const waitingBudget = { all: 512 * waitingBytes, client: 256 * waitingBytes } as const;

/** An aedes broker, to which nobody can connect yet. */
export function createAedes(options: AedesOptions): Promise<Aedes> {
  // The number cache would take 8 MB of memory.
  writeToStream.cacheNumbers = false;
  return Aedes.createBroker(options);
}

/** Accepts MQTT connections over TCP for an aedes broker. @throws (rejects) when the port is in use. */
export async function listenForMqtt(options: MqttServerOptions): Promise<MqttServer> {
  const { broker, maxConnections, onError, onRefused } = options;
  const waiting = createByteBudget(waitingBudget);
  const places = new WeakMap<Client, Disposable | null>();
  // Without it a command waits up to 40 ms until the device's TCP acknowledges the packet before (RFC 896).
  const server = createServer({ noDelay: true }, (socket) => {
    const client = broker.handle(socket);
    const address = socket.remoteAddress ?? '';
    const place = waiting.take({
      bytes: waitingBytes,
      client: networkOf(address),
      isStranger: true,
      mayEnd: () => true,
      end: () => {
        onRefused('too_many_connections', address);
        socket.destroy();
      },
    });
    places.set(client, place);
    socket.once('close', () => place?.[Symbol.dispose]());
    boundPackets(socket, { client, hasLoggedIn: () => !places.has(client) }, options);
  });
  // Emitted before a client learns that its log-in was accepted.
  broker.on('client', (client) => {
    places.get(client)?.[Symbol.dispose]();
    places.delete(client);
  });
  server.maxConnections = maxConnections;
  server.on('drop', (dropped) => onRefused('too_many_connections', dropped?.remoteAddress ?? ''));
  const address = await listen(server, options);
  server.on('error', onError);
  return {
    address,
    isListening: () => server.listening,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

async function listen(server: Server, { host, port }: MqttServerOptions): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `mqtt://${name}:${bound.port}`;
}

/** Whether the error of a client is of its parser: it sent what is not MQTT. Reads a private field, as below. */
export const isParserError = (client: Client, error: Error): boolean =>
  (client as unknown as { _parser: { error: Error | null } })._parser.error === error;

/**
 * Ends a connection while it sends a packet over the limit, or much before its log-in. The broker itself would buffer up to the 256 MiB
 * that MQTT allows. aedes offers nothing for it: this reads private fields of aedes 1.2 (`_parser`) and
 * mqtt-packet 9 (`_list`), which the test beside this file checks.
 */
function boundPackets(
  socket: Socket,
  { client, hasLoggedIn }: { client: Client; hasLoggedIn: () => boolean },
  { maxPacketBytes, onTooLarge, onRefused }: Pick<MqttServerOptions, 'maxPacketBytes' | 'onTooLarge' | 'onRefused'>,
): void {
  const { _parser: parser } = client as unknown as { _parser: { _list: { length: number } } };
  const isTooLarge = (): boolean =>
    parser._list.length > maxPacketBytes || (!hasLoggedIn() && socket.bytesRead > maxBytesBeforeLogIn);
  socket.on('readable', () => {
    if (socket.destroyed || !isTooLarge()) return;
    if (hasLoggedIn()) onTooLarge();
    else onRefused('too_large', socket.remoteAddress ?? '');
    socket.destroy();
  });
}

import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import { Aedes, type AedesOptions, type Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import { createByteBudget } from '@station/kit/byte-budget';
import { networkOf } from '../../core/client-network.ts';

/** Null: closed. 0 takes a free port. */
export type MqttPorts = { plain: number | null; tls: number | null };

export type MqttServerOptions = {
  broker: Pick<Aedes, 'handle' | 'on'>;
  host: string;
  ports: MqttPorts;
  maxConnections: number;
  /** Largest packet of a client with its topic and header. */
  maxPacketBytes: (client: Client) => number;
  /** A client that has logged in sent a larger one, or too many others than messages. */
  onTooLarge: () => void;
  /** A client that has logged in sent a packet that is no message: false ends its connection. */
  mayControl: (client: Client, packet: ControlPacket) => boolean;
  /** A connection ended before its log-in. */
  onRefused: (reason: 'too_large' | 'too_many_connections', address: string) => void;
  /** An error that does not belong to one connection. */
  onError: (error: unknown) => void;
};

type ControlPacket = { cmd: string; subscriptions?: readonly unknown[]; unsubscriptions?: readonly unknown[] };

/** Disposing stops accepting connections, and resolves when the broker has ended the existing ones. */
export type MqttServer = AsyncDisposable & {
  /** `mqtt://host:port` and `mqtts://host:port`, of the ports that are open. */
  addresses: string[];
  isListening(): boolean;
  /**
   * Takes a certificate and its key (PEM) for the connections to come; those that are open stay. Without one, connections to the port for TLS end
   * at once.
   * @throws when they are no certificate with its key.
   */
  useCertificate(pem: string): void;
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

/** Accepts MQTT connections over TCP and TLS for an aedes broker. @throws (rejects) when a port is in use. */
export async function listenForMqtt(options: MqttServerOptions): Promise<MqttServer> {
  const { broker, ports, maxConnections, onError, onRefused } = options;
  const waiting = createByteBudget(waitingBudget);
  const places = new WeakMap<Client, Disposable | null>();
  /** Connections that have not logged in: the broker does not know them, and ends them not before their deadline. */
  const strangers = new Set<Client['conn']>();
  let secureContext: SecureContext | null = null;
  const accept = (socket: Socket | TLSSocket): void => {
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
    strangers.add(socket);
    socket.once('close', () => {
      strangers.delete(socket);
      place?.[Symbol.dispose]();
    });
    boundPackets(socket, { client, hasLoggedIn: () => !places.has(client) }, options);
  };
  const acceptSecure = (socket: Socket): void => {
    if (secureContext === null) socket.destroy();
    // The broker's deadline for the log-in holds for the handshake, too.
    else accept(new TLSSocket(socket, { isServer: true, secureContext }));
  };
  // Emitted before a client learns that its log-in was accepted.
  broker.on('client', (client) => {
    places.get(client)?.[Symbol.dispose]();
    places.delete(client);
    strangers.delete(client.conn);
  });
  await using opened = new AsyncDisposableStack();
  const open = async (scheme: string, port: number, take: (socket: Socket) => void): Promise<Listener> => {
    // Without `noDelay` a command waits up to 40 ms until the device's TCP acknowledges the packet before (RFC 896).
    const server = createServer({ noDelay: true }, take);
    server.maxConnections = maxConnections;
    server.on('drop', (dropped) => onRefused('too_many_connections', dropped?.remoteAddress ?? ''));
    const listener = opened.use(await listen(server, { scheme, host: options.host, port }));
    server.on('error', onError);
    return listener;
  };
  const listeners = [
    ...(ports.plain === null ? [] : [await open('mqtt', ports.plain, accept)]),
    ...(ports.tls === null ? [] : [await open('mqtts', ports.tls, acceptSecure)]),
  ];
  opened.move();
  return {
    addresses: listeners.map(({ address }) => address),
    isListening: () => listeners.every(({ server }) => server.listening),
    useCertificate: (pem) => {
      secureContext = createSecureContext({ cert: pem, key: pem });
    },
    [Symbol.asyncDispose]: async () => {
      // At once: a device would reconnect by the other port.
      const closed = Promise.all(listeners.map((one) => one[Symbol.asyncDispose]()));
      for (const stranger of strangers) stranger.destroy();
      await closed;
    },
  };
}

type Listener = AsyncDisposable & { server: Server; address: string };

async function listen(
  server: Server,
  { scheme, host, port }: { scheme: string; host: string; port: number },
): Promise<Listener> {
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    server,
    address: `${scheme}://${name}:${bound.port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/**
 * Stops reading from a client while messages of it wait. aedes reads on while it handles a packet that came in many pieces. Uses methods of aedes 1.2
 * that its types do not know.
 */
export function createReadingStops() {
  const waiting = new WeakMap<Client, number>();
  const methodsOf = (client: Client) => client as unknown as { pause(): void; resume(): void };
  return {
    stop: (client: Client): void => {
      waiting.set(client, (waiting.get(client) ?? 0) + 1);
      methodsOf(client).pause();
    },
    goOn: (client: Client): void => {
      const left = (waiting.get(client) ?? 1) - 1;
      waiting.set(client, left);
      if (left === 0 && !client.closed) methodsOf(client).resume();
    },
  };
}

/** Whether the handshake of TLS failed: the client speaks something else, or does not trust the certificate. */
export const isHandshakeError = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && error.code.startsWith('ERR_SSL_');

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
  {
    maxPacketBytes,
    mayControl,
    onTooLarge,
    onRefused,
  }: Pick<MqttServerOptions, 'maxPacketBytes' | 'mayControl' | 'onTooLarge' | 'onRefused'>,
): void {
  type Parser = { _list: { length: number }; on(event: 'packet', listener: (packet: ControlPacket) => void): void };
  const { _parser: parser } = client as unknown as { _parser: Parser };
  parser.on('packet', (packet) => {
    if (packet.cmd === 'publish' || !hasLoggedIn() || client.closed || mayControl(client, packet)) return;
    onTooLarge();
    client.close();
  });
  const isTooLarge = (): boolean =>
    parser._list.length > maxPacketBytes(client) || (!hasLoggedIn() && socket.bytesRead > maxBytesBeforeLogIn);
  socket.on('readable', () => {
    if (socket.destroyed || !isTooLarge()) return;
    if (hasLoggedIn()) onTooLarge();
    else onRefused('too_large', socket.remoteAddress ?? '');
    socket.destroy();
  });
}

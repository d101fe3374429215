import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Aedes, Client } from 'aedes';

export type MqttServerOptions = {
  broker: Pick<Aedes, 'handle'>;
  host: string;
  /** 0 takes a free port. */
  port: number;
  maxConnections: number;
  /** Largest packet with its topic and header. */
  maxPacketBytes: number;
  onTooLarge: () => void;
  /** An error that does not belong to one connection. */
  onError: (error: unknown) => void;
};

/** Disposing stops accepting connections, and resolves when the broker has ended the existing ones. */
export type MqttServer = AsyncDisposable & {
  /** `mqtt://host:port`. */
  address: string;
  isListening(): boolean;
};

/** Accepts MQTT connections over TCP for an aedes broker. @throws (rejects) when the port is in use. */
export async function listenForMqtt(options: MqttServerOptions): Promise<MqttServer> {
  const { broker, maxConnections, maxPacketBytes, onTooLarge, onError } = options;
  // Without it a command waits up to 40 ms until the device's TCP acknowledges the packet before (RFC 896).
  const server = createServer({ noDelay: true }, (socket) =>
    boundPackets(socket, broker.handle(socket), maxPacketBytes, onTooLarge),
  );
  server.maxConnections = maxConnections;
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

/**
 * Ends a connection while it sends a packet over the limit. The broker itself would buffer up to the 256 MiB that MQTT allows, even
 * before login. aedes offers nothing for it: this reads private fields of aedes 1.2 (`_parser`) and
 * mqtt-packet 9 (`_list`), which the test beside this file checks.
 */
function boundPackets(socket: Socket, client: Client, maxPacketBytes: number, onTooLarge: () => void): void {
  const { _parser: parser } = client as unknown as { _parser: { _list: { length: number } } };
  socket.on('readable', () => {
    if (socket.destroyed || parser._list.length <= maxPacketBytes) return;
    onTooLarge();
    socket.destroy();
  });
}

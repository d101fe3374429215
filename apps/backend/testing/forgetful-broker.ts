import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { generate, parser, type IPublishPacket, type Packet } from 'mqtt-packet';
import { systemClock } from '@station/kit/clock';
import { connectBroker } from '../src/mqtt/broker-client.ts';
import { recordedLog } from './recorded-log.ts';

/**
 * A broker that accepts every client and message, forwards nothing, and acknowledges only while `acknowledges` is set.
 */
export async function startForgetfulBroker(protocolVersion: 4 | 5) {
  const received: IPublishPacket[] = [];
  const sockets = new Set<Socket>();
  /** The reply to the sender of a message; null: no reply. */
  const replyTo: (packet: IPublishPacket) => string | null = () => null;
  const broker = { received, acknowledges: true, url: '', connections: 0, replyTo };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const packets = parser({ protocolVersion });
    const answer = (packet: Packet): void => void socket.write(generate(packet, { protocolVersion }));
    packets.on('packet', (packet: Packet) => {
      if (packet.cmd === 'connect' && packet.protocolVersion !== protocolVersion) {
        socket.end(generate({ cmd: 'connack', returnCode: 1, sessionPresent: false }));
      } else if (packet.cmd === 'connect') {
        broker.connections += 1;
        answer({ cmd: 'connack', reasonCode: 0, returnCode: 0, sessionPresent: false });
      } else if (packet.cmd === 'subscribe') {
        answer({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: packet.subscriptions.map(() => 1) });
      } else if (packet.cmd === 'publish') {
        received.push(packet);
        if (broker.acknowledges) answer({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 });
        const payload = broker.replyTo(packet);
        const topic = `${packet.topic}/response`;
        if (payload !== null) answer({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false });
      }
    });
    socket.on('data', (bytes: Buffer) => packets.parse(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  broker.url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Sends to all clients, at QoS 1. */
  const publish = (topic: string, payload: Buffer, messageId: number): void => {
    const packet = { cmd: 'publish', topic, payload, messageId, qos: 1, dup: false, retain: false } as const;
    for (const socket of sockets) socket.write(generate(packet, { protocolVersion }));
  };
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  const dispose = async (): Promise<void> => {
    cut();
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return Object.assign(broker, { publish, cut, [Symbol.asyncDispose]: dispose });
}

/** The backend's client, connected to it. */
export const linkTo = (url: string) =>
  connectBroker({
    url,
    inflight: 10,
    username: null,
    password: null,
    authority: null,
    clientId: 'station',
    stationId: 's',
    shared: null,
    filters: () => [],
    clock: systemClock,
    logger: recordedLog(),
    handler: { onMessage: () => Promise.resolve(), onListening: () => undefined },
    waiting: () => 0,
  });

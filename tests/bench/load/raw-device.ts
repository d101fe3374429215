import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';

/** `username` when it differs from the external id. */
export type RawLogin = { externalId: string; token: string; username?: string };

/** Offset of a value in the payload: ten digits that the counter overwrites. */
const counterBase = 1_000_000_000;

/** A climate sensor's state, with a counter that identifies it. */
const statePayload = (): Buffer => Buffer.from(`{"state":{"temperature":21.57,"counter":${counterBase}}}`);
/** Value of the counter in the nth message. */
export const counterOf = (n: number): number => counterBase + n;

/**
 * A device that sends states at QoS 1 as fast as possible, at almost no cost: the packet is encoded once, then only its
 * id and its counter change. MQTT 3.1.1; it reads only CONNACK and PUBACK.
 */
export async function connectRawDevice(options: { host: string; port: number; topic: string; login: RawLogin }) {
  const { host, port, topic, login } = options;
  const socket = connect({ host, port, noDelay: true });
  // `close` reports the end of the connection.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const { externalId, token, username = externalId } = login;
  const hello = { clientId: externalId, username, password: Buffer.from(token), clean: true, keepalive: 0 };
  socket.write(generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, ...hello }));
  const [connack] = (await Promise.race([
    once(socket, 'data'),
    once(socket, 'close').then(() => [Buffer.alloc(4)]),
  ])) as [Buffer];
  // CONNACK, return code 0 (MQTT 3.1.1, section 3.2).
  if (connack[0] !== 0x20 || connack[3] !== 0) {
    socket.destroy();
    throw new Error(`The broker refused ${externalId}`);
  }
  const packet = generate({
    cmd: 'publish',
    topic,
    payload: statePayload(),
    qos: 1,
    messageId: 1,
    retain: false,
    dup: false,
  });
  const idAt = packet.length - statePayload().length - 2;
  const counterAt = packet.length - '}}'.length - String(counterBase).length;
  let sentCount = 0;

  /**
   * Sends the next `count` messages in one write.
   * @param reads gives the counter value of the nth message: ten digits.
   */
  const send = (count: number, reads = counterOf): void => {
    const chunk = Buffer.allocUnsafe(count * packet.length);
    for (let index = 0; index < count; index++) {
      sentCount += 1;
      const start = index * packet.length;
      packet.copy(chunk, start);
      // Never 0 (MQTT 3.1.1, section 2.3.1). Far fewer than 65,535 are in flight.
      chunk.writeUInt16BE((sentCount % 65_535) + 1, start + idAt);
      chunk.write(String(reads(sentCount)), start + counterAt, 'latin1');
    }
    socket.write(chunk);
  };
  return { socket, send, sentCount: () => sentCount };
}

/** Calls the listener with the number of received PUBACKs. Each has four bytes; nothing else arrives. */
export function onAcknowledged(socket: Socket, listener: (count: number) => void): void {
  let rest = 0;
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest + chunk.length;
    rest = bytes % 4;
    if (bytes >= 4) listener((bytes - rest) / 4);
  });
}

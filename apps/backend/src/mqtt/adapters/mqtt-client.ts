import type { Socket } from 'node:net';
import { connect, type IClientOptions, type MqttClient, Store } from 'mqtt';
import { writeToStream } from 'mqtt-packet';
import { brokerAddress } from '../../core/adapters/broker-address.ts';

/**
 * Opens a client of an external broker, which connects again whenever the connection ends. It sends a message immediately or never: it keeps
 * none for later.
 * @param url `mqtt://` or `mqtts://`; its login is used unless `options` has one.
 */
export function openMqttClient(url: string, options: IClientOptions): MqttClient {
  // The number cache would take 8 MB of memory, as in the embedded broker.
  writeToStream.cacheNumbers = false;
  const client = connect({ ...options, outgoingStore: new NothingKept(), ...brokerAddress(url) });
  client.on('connect', () => sendAtOnce(client));
  return client;
}

/** A real store would make the library resend unacknowledged messages, however late. */
class NothingKept extends Store {
  override put(_packet: Parameters<Store['put']>[0], done: Parameters<Store['put']>[1]): this {
    done();
    return this;
  }
  override del(packet: Parameters<Store['del']>[0], done: Parameters<Store['del']>[1]): this {
    done(undefined, { ...packet, cmd: 'publish' } as Parameters<typeof done>[1]);
    return this;
  }
}

/** Without it a command waits up to 40 ms until the broker's TCP acknowledges the packet before (RFC 896). */
function sendAtOnce({ stream }: MqttClient): void {
  // A WebSocket sets it itself.
  const socket = stream as Partial<Pick<Socket, 'setNoDelay'>>;
  socket.setNoDelay?.(true);
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { generate, parser, type IPublishPacket, type Packet } from 'mqtt-packet';
import { recordedLog } from '../testing/recorded-log.ts';
import { until } from '../testing/until.ts';
import { connectBroker } from './broker-client.ts';

/** A broker that takes everyone and everything, and acknowledges what comes while it is asked to. */
async function startForgetfulBroker(protocolVersion: 4 | 5) {
  const heard: IPublishPacket[] = [];
  const sockets = new Set<Socket>();
  const broker = { heard, acknowledges: true, url: '', connections: 0 };
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
        heard.push(packet);
        if (broker.acknowledges) answer({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 });
      }
    });
    socket.on('data', (bytes: Buffer) => packets.parse(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  broker.url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  const dispose = async (): Promise<void> => {
    cut();
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return Object.assign(broker, { cut, [Symbol.asyncDispose]: dispose });
}

const linkTo = (url: string) =>
  connectBroker({
    ...{ url, username: null, password: null, authority: null, clientId: 'station', shared: null, log: recordedLog() },
    handler: { onMessage: () => Promise.resolve(), onListening: () => undefined },
    waiting: () => 0,
  });

for (const version of [4, 5] as const) {
  const name = version === 4 ? 'MQTT 3.1.1' : 'MQTT 5';
  test(`by ${name}, what was reported as failed is not sent when the broker is back`, async () => {
    await using broker = await startForgetfulBroker(version);
    await using link = linkTo(broker.url);
    await until('it listens', link.isWell);
    broker.acknowledges = false;
    await assert.rejects(link.publish('lock/command', 'unlock', 200));
    assert.equal(broker.heard.length, 1);
    broker.cut();
    broker.acknowledges = true;
    await until('it is back', () => broker.connections === 2 && link.isWell());
    await link.publish('lock/command', 'lock', 15_000);
    assert.deepEqual(
      broker.heard.map(({ payload }) => String(payload)),
      ['unlock', 'lock'],
    );
  });

  test(`by ${name}, what the connection ended upon is sent again, with what is left of its expiry`, async () => {
    await using broker = await startForgetfulBroker(version);
    await using link = linkTo(broker.url);
    await until('it listens', link.isWell);
    broker.acknowledges = false;
    const publishing = link.publish('lock/command', 'lock', 15_000);
    await until('it is under way', () => broker.heard.length === 1);
    broker.cut();
    broker.acknowledges = true;
    await publishing;
    const [first, again] = broker.heard.map(({ properties }) => properties?.messageExpiryInterval);
    assert.equal(broker.heard.length, 2);
    if (version === 4) return assert.deepEqual([first, again], [undefined, undefined]);
    assert.equal(first, 15);
    assert.ok(again !== undefined && again < 15, String(again));
  });
}

test('what waits for a broker that is away ends with the link', async () => {
  await using broker = await startForgetfulBroker(5);
  const link = linkTo(broker.url);
  await until('it listens', link.isWell);
  broker.acknowledges = false;
  const publishing = link.publish('lock/command', 'lock', 15_000);
  await until('it is under way', () => broker.heard.length === 1);
  await Promise.all([assert.rejects(publishing, /away/), link[Symbol.asyncDispose]()]);
});

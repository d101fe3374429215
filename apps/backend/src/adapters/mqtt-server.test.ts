import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Aedes } from 'aedes';
import ownPackage from '../../package.json' with { type: 'json' };
import { listenForMqtt } from './mqtt-server.ts';

test('the libraries have the versions whose private fields the adapter reads', () => {
  const { aedes, 'mqtt-packet': mqttPacket } = ownPackage.dependencies;
  assert.deepEqual([aedes, mqttPacket], ['1.2.0', '9.0.2']);
});

test('a packet over the limit ends its connection while it arrives; one below the limit does not', async () => {
  const broker = await Aedes.createBroker();
  let tooLarge = 0;
  const server = await listenForMqtt({
    broker,
    host: '127.0.0.1',
    port: 0,
    maxConnections: 10,
    maxPacketBytes: 10_000,
    onTooLarge: () => (tooLarge += 1),
    onError: (error) => assert.ifError(error),
  });
  const { hostname, port } = new URL(server.address);
  // PUBLISH with a length of 2 MiB (MQTT 3.1.1, section 2.2.3), of which only a part is sent.
  const head = Buffer.from([0x30, 0x80, 0x80, 0x80, 0x01]);
  const fine = connect(Number(port), hostname).on('error', () => undefined);
  fine.write(Buffer.concat([head, Buffer.alloc(9_000)]));
  const large = connect(Number(port), hostname).on('error', () => undefined);
  large.write(Buffer.concat([head, Buffer.alloc(20_000)]));
  await once(large, 'close');
  assert.equal(tooLarge, 1);
  assert.ok(!fine.destroyed);
  const closed = server[Symbol.asyncDispose]();
  await new Promise<void>((resolve) => broker.close(resolve));
  fine.destroy();
  await closed;
});

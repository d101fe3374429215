import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { Aedes } from 'aedes';
import ownPackage from '../../../package.json' with { type: 'json' };
import { isHandshakeError, listenForMqtt, type MqttPorts } from './mqtt-server.ts';

test('the libraries have the versions whose private fields the adapter reads', () => {
  const { aedes, 'mqtt-packet': mqttPacket } = ownPackage.dependencies;
  assert.deepEqual([aedes, mqttPacket], ['1.2.0', '9.0.2']);
});

async function openServer(ports: MqttPorts = { plain: 0, tls: null }) {
  const broker = await Aedes.createBroker();
  const counts = { tooLarge: 0, refused: [] as string[] };
  const errors: Error[] = [];
  broker.on('connectionError', (_client, error) => errors.push(error));
  const server = await listenForMqtt({
    broker,
    host: '127.0.0.1',
    ports,
    maxConnections: 1_000,
    maxPacketBytes: () => 10_000,
    mayControl: () => true,
    onTooLarge: () => (counts.tooLarge += 1),
    onRefused: (reason, address) => counts.refused.push(`${reason} ${address}`),
    onError: (error) => assert.ifError(error),
  });
  const open: Socket[] = [];
  return {
    broker,
    counts,
    errors,
    server,
    connect: async (): Promise<Socket> => {
      const { hostname, port } = new URL(server.addresses[0] ?? '');
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      open.push(socket);
      socket.resume();
      await once(socket, 'connect');
      return socket;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = server[Symbol.asyncDispose]();
      await new Promise<void>((resolve) => broker.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Sends CONNECT (MQTT 3.1.1, section 3.1). @param id one letter. */
async function logIn(socket: Socket, id: string): Promise<void> {
  const answered = once(socket, 'data');
  socket.write(Buffer.from([0x10, 13, 0, 4, ...Buffer.from('MQTT'), 4, 2, 0, 60, 0, 1, ...Buffer.from(id)]));
  const [answer] = (await answered) as [Buffer];
  assert.deepEqual([...answer], [0x20, 2, 0, 0]);
}

test('a packet over the limit ends its connection while it arrives; one below the limit does not', async () => {
  await using server = await openServer();
  // PUBLISH with a length of 2 MiB (MQTT 3.1.1, section 2.2.3), of which only a part is sent.
  const head = Buffer.from([0x30, 0x80, 0x80, 0x80, 0x01]);
  const fine = await server.connect();
  await logIn(fine, 'a');
  fine.write(Buffer.concat([head, Buffer.alloc(9_000)]));
  const large = await server.connect();
  await logIn(large, 'b');
  large.write(Buffer.concat([head, Buffer.alloc(20_000)]));
  await once(large, 'close');
  assert.equal(server.counts.tooLarge, 1);
  assert.ok(!fine.destroyed);
});

test('before its log-in a connection sends 4 KiB at most', async () => {
  await using server = await openServer();
  // CONNECT with a length of 8,000, of which the last byte is missing.
  const large = await server.connect();
  large.write(Buffer.concat([Buffer.from([0x10, 0xc0, 0x3e]), Buffer.alloc(7_999)]));
  await once(large, 'close');
  assert.deepEqual(server.counts, { tooLarge: 0, refused: ['too_large 127.0.0.1'] });
});

test('connections that do not log in make room for the next one, and end no device', async () => {
  await using server = await openServer();
  const device = await server.connect();
  await logIn(device, 'a');
  const silent: Socket[] = [];
  for (let count = 0; count < 257; count += 1) silent.push(await server.connect());
  const first = silent[0] ?? assert.fail();
  if (!first.destroyed) await once(first, 'close');
  await logIn(await server.connect(), 'b');
  assert.equal(device.destroyed, false);
  assert.deepEqual([...new Set(server.counts.refused)], ['too_many_connections 127.0.0.1']);
});

/** A self-signed certificate for `station.local`, valid for a hundred years, with its key. */
const pem = `-----BEGIN CERTIFICATE-----
MIIBoDCCAUegAwIBAgIURFSh2qqTfaE5z1SJvw6Wp5y0fpcwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNc3RhdGlvbi5sb2NhbDAgFw0yNjExMjcwNDE3NTZaGA8yMTI2
MTEwMzA0MTc1NlowGDEWMBQGA1UEAwwNc3RhdGlvbi5sb2NhbDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABCUWM5fJagC7ck43MFVjP8TtddIymXE+53CLaosGQOek
MIyktoPw5Ki1danuu/ec3Hk9xH0gElj/i9lM/FdZyEGjbTBrMB0GA1UdDgQWBBRJ
E2mfpLN9LH9i1yhV6O+hR9jG/DAfBgNVHSMEGDAWgBRJE2mfpLN9LH9i1yhV6O+h
R9jG/DAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDXN0YXRpb24ubG9jYWww
CgYIKoZIzj0EAwIDRwAwRAIgZYvrGGxeHSL3Hhh7toiQwd+9FstYeniYkLYLkJEx
OiICICv+JAOlx7yOpUl56ndZVrbICG+7sglKFTumcma4F3bc
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghPM4SsS1W0oua86X
otniTUxk//6Vi3KALUhkmTIybzahRANCAAQlFjOXyWoAu3JONzBVYz/E7XXSMplx
Pudwi2qLBkDnpDCMpLaD8OSotXWp7rv3nNx5PcR9IBJY/4vZTPxXWchB
-----END PRIVATE KEY-----
`;

const secure = { plain: null, tls: 0 };
const overTls = (socket: Socket) => connectTls({ socket, ca: pem, servername: 'station.local' });

test('over TLS a client logs in; a new certificate ends no connection', async () => {
  await using server = await openServer(secure);
  const early = await server.connect();
  if (!early.destroyed) await once(early, 'close');
  server.server.useCertificate(pem);
  const device = overTls(await server.connect());
  device.resume();
  await logIn(device, 'a');
  server.server.useCertificate(pem);
  await logIn(overTls(await server.connect()).resume(), 'b');
  assert.equal(device.destroyed, false);
  assert.throws(() => server.server.useCertificate('nothing'));
  assert.deepEqual(server.counts, { tooLarge: 0, refused: [] });
});

test('who does not speak TLS on its port, or sends much before the log-in, is refused', async () => {
  await using server = await openServer(secure);
  server.server.useCertificate(pem);
  const plain = await server.connect();
  plain.write(Buffer.from([0x10, 13, 0, 4, ...Buffer.from('MQTT'), 4, 2, 0, 60, 0, 1, 0x61]));
  await once(plain, 'close');
  const large = overTls(await server.connect()).on('error', () => undefined);
  large.resume();
  large.write(Buffer.concat([Buffer.from([0x10, 0xc0, 0x3e]), Buffer.alloc(7_999)]));
  await once(large, 'close');
  assert.deepEqual(server.counts, { tooLarge: 0, refused: ['too_large 127.0.0.1'] });
  assert.deepEqual(
    server.errors.map((error) => isHandshakeError(error)),
    [true],
  );
});

test('connections that have not logged in do not hold up the end', { timeout: 5_000 }, async () => {
  for (const ports of [{ plain: 0, tls: null }, secure]) {
    await using server = await openServer(ports);
    if (ports.tls !== null) server.server.useCertificate(pem);
    const silent = await server.connect();
    const half = await server.connect();
    half.write(ports.tls === null ? Buffer.from([0x10, 13, 0]) : Buffer.from([0x16, 3, 1, 2]));
    const late = ports.tls === null ? await server.connect() : overTls(await server.connect());
    late.on('error', () => undefined).resume();
    if (ports.tls !== null) await once(late, 'secureConnect');
    // The server has seen all of them.
    await logIn(ports.tls === null ? await server.connect() : overTls(await server.connect()).resume(), 'a');
    const closed = [silent, half].map((socket) => once(socket, 'close'));
    const ended = server.server[Symbol.asyncDispose]();
    await Promise.all(closed);
    await new Promise<void>((resolve) => server.broker.close(resolve));
    await ended;
  }
});

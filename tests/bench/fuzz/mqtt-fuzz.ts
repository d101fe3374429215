import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { connect, type IClientPublishOptions, type MqttClient } from 'mqtt';
import { deviceTopic, deviceTopicEnds, type DeviceTopicEnd } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createRandom } from '../../faults/choice.ts';
import { mutateDocument, mutateText, toBytes, type Random } from '../../faults/mutate.ts';
import { pick } from './pick.ts';
import { runTrials, type Findings } from './findings.ts';

const seeds: Record<DeviceTopicEnd, object> = {
  handshake: { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32', kit_tag: 'k7' },
  state: { state: { power: true, brightness: 40, mode: 'auto', nested: { a: [1, null] } } },
  event: { event: 'device_event', data: { action: 'command_ack', commandId: 'x', percent: 3 } },
  heartbeat: { status: 'online' },
};
/** Where no device may publish, or nothing of the kind is. */
const oddEnds = ['handshake/ack', 'command', '', 'state/more', 'State', ' state', 'ota', '𝒳', '\u0001', '../state'];
const answerMs = 20_000;
/** Messages that a device has under way. */
const lanesEach = 8;

/** Mutated messages of devices that are logged in, over real connections; one in fifty is bytes that are no MQTT. */
export async function fuzzMqtt(options: {
  url: string;
  stationId: string;
  logins: readonly DeviceLogin[];
  count: number;
  seed: number;
  findings: Findings;
}): Promise<void> {
  const { url, stationId, logins, count, seed, findings } = options;
  await using stack = new AsyncDisposableStack();
  const devices = logins.map((login) => ({ login, device: stack.use(openDevice(url, login)) }));
  await runTrials(count, devices.length * lanesEach, async (index, lane) => {
    const random = createRandom(seed + index);
    const { login, device } = devices[lane % devices.length] ?? {};
    if (!login || !device) return;
    if (random() < 0.02) await sendBytes(url, login, random, findings);
    else await publish(device, messageOf(stationId, login, random), findings);
    findings.done();
  });
}

type Device = AsyncDisposable & { connected(): Promise<MqttClient> };

/** What the broker does not like it answers by ending the connection; the next one is as good, and knows nothing of what was said before. */
function openDevice(url: string, { externalId, token }: DeviceLogin): Device {
  const login = { username: externalId, password: token, reconnectPeriod: 0, connectTimeout: answerMs };
  let client: Promise<MqttClient> | null = null;
  const open = async (): Promise<MqttClient> => {
    const opened = connect(url, login);
    opened.setMaxListeners(100);
    // Before as well as after it is connected: an error that nobody hears would end this process.
    const failed = new Promise<never>((_resolve, reject) => opened.on('error', reject));
    opened.once('close', () => {
      client = null;
      opened.end(true);
    });
    await Promise.race([new Promise<void>((resolve) => opened.once('connect', () => resolve())), failed]);
    return opened;
  };
  return {
    connected: () => (client ??= open()),
    [Symbol.asyncDispose]: async () => (await client)?.endAsync(true),
  };
}

type Message = { topic: string; payload: Buffer; options: IClientPublishOptions };

function messageOf(stationId: string, { externalId }: DeviceLogin, random: Random): Message {
  const end = pick(random, deviceTopicEnds);
  const own = deviceTopic(stationId, externalId, end);
  const odd = `station/${stationId}/device/${externalId}/${pick(random, oddEnds)}`;
  const kind = random();
  const topic = kind < 0.85 ? own : kind < 0.93 ? odd : mutateText(own, random);
  const qos = pick(random, [0, 1, 1, 1, 2] as const);
  return {
    // A client must not publish to what means several topics, and this one's library would not (MQTT 3.1.1, section 3.3.2.1).
    topic: topic.replace(/[+#\u0000]/g, '') || 'x',
    payload: payloadOf(seeds[end], random),
    options: { qos, retain: random() < 0.1, dup: qos > 0 && random() < 0.05 },
  };
}

function payloadOf(seed: object, random: Random): Buffer {
  const kind = random();
  if (kind < 0.002) return Buffer.alloc(Math.floor(random() * 400_000), 'x');
  if (kind < 0.01) return Buffer.from('['.repeat(Math.floor(random() * 100_000)));
  if (kind < 0.02) return Buffer.from(`{"state":${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}}`);
  if (kind < 0.03) return Buffer.from(JSON.stringify({ state: Object.fromEntries(manyKeys(random)) }));
  if (kind < 0.06) return Buffer.from(Array.from({ length: Math.floor(random() * 64) }, () => random() * 256));
  if (kind < 0.1) return Buffer.from(JSON.stringify(seed));
  return Buffer.from(toBytes(mutateDocument(seed, random), random));
}

const manyKeys = (random: Random): [string, unknown][] =>
  Array.from({ length: Math.floor(random() * 400) }, (_, n) => [`k${n}`, n % 2 ? n : `v${random()}`]);

/** Ends when the broker has answered, if only by ending the connection. */
async function publish(device: Device, message: Message, findings: Findings): Promise<void> {
  const { topic, payload, options } = message;
  const inWords = `${JSON.stringify(options)} ${topic} ${payload.toString()}`;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    findings.fault('MQTT: a message was not answered', inWords);
    resolve();
  }, answerMs);
  try {
    const client = await device.connected();
    client.once('close', resolve);
    client.publish(topic, payload, options, () => resolve());
    await promise;
    client.off('close', resolve);
  } catch (error) {
    findings.fault(`MQTT: no connection: ${String(error)}`, inWords);
  } finally {
    clearTimeout(timer);
  }
}

/** A good CONNECT packet, damaged, or one followed by damaged bytes; the broker must end the connection or go on, and keep standing. */
async function sendBytes(url: string, login: DeviceLogin, random: Random, findings: Findings): Promise<void> {
  const { generate } = await import('mqtt-packet');
  const { externalId: username, token } = login;
  const good = generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: `raw-${random()}`,
    keepalive: 1,
    username,
    password: Buffer.from(random() < 0.7 ? token : 'wrong'),
  });
  const publishing = generate({
    cmd: 'publish',
    topic: `a/${username}`,
    payload: 'x'.repeat(20),
    qos: 1,
    messageId: 7,
    retain: false,
    dup: false,
  });
  const damaged = Buffer.concat([random() < 0.5 ? damage(good, random) : good, damage(publishing, random)]);
  const { hostname, port } = new URL(url);
  const socket = connectSocket(Number(port), hostname);
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect').catch(() => findings.fault('MQTT: no connection', damaged.toString('hex')));
  socket.end(damaged);
  const timer = setTimeout(() => {
    findings.fault('MQTT: a half-closed connection stays open', damaged.toString('hex'));
    socket.destroy();
  }, answerMs);
  if (!socket.closed) await once(socket, 'close').catch(() => undefined);
  clearTimeout(timer);
}

function damage(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes -= 1) {
    copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
  }
  return random() < 0.3 ? copy.subarray(0, Math.floor(random() * copy.length)) : copy;
}

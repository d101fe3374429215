import { connectAsync, type MqttClient } from 'mqtt';
import { gen1Announcement, relayMessages } from './gateways/gen1-messages.ts';

export type SimulatedShellyGen1 = AsyncDisposable & {
  client: MqttClient;
  /** What it was told, by the end of the topic, without questions. */
  commands: { end: string; payload: string }[];
  /** Messages on topics that are not its own. */
  foreign: string[];
  report(end: string, value: unknown): Promise<void>;
  /** Its process ends: the broker publishes its last will. */
  crash(): void;
};

/** Publishes what a Shelly with one relay publishes, and does what it is told (shelly-api-docs.shelly.cloud, "Gen1 Device API", "MQTT"). */
export async function startShellyGen1(
  address: string,
  login: { username: string; password: string },
  { id, mac }: { id: string; mac: string },
): Promise<SimulatedShellyGen1> {
  const topic = `shellies/${id}`;
  const will = { topic: `${topic}/online`, payload: Buffer.from('false'), qos: 1, retain: true } as const;
  const client = await connectAsync(address, { ...login, clientId: id, will, reconnectPeriod: 500 }, false);
  const commands: SimulatedShellyGen1['commands'] = [];
  const foreign: string[] = [];
  const values = new Map(Object.entries(relayMessages));
  const publish = async (place: string, body: unknown, retain = false): Promise<void> => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    await client.publishAsync(place, payload, { qos: 1, retain });
  };
  const report = async (end: string, value: unknown): Promise<void> => {
    values.set(end, value);
    await publish(`${topic}/${end}`, value);
  };
  const announce = async (): Promise<void> => {
    const announcement = gen1Announcement({ id, mac });
    await publish('shellies/announce', announcement);
    await publish(`${topic}/announce`, announcement);
  };
  const update = async (): Promise<void> => {
    for (const [end, value] of values) await publish(`${topic}/${end}`, value);
  };
  const take = async (end: string, payload: string): Promise<void> => {
    if (end === 'command') return payload === 'announce' ? announce() : update();
    commands.push({ end, payload });
    const isOn = payload === 'toggle' ? values.get('relay/0') !== 'on' : payload === 'on';
    if (end === 'relay/0/command') await report('relay/0', isOn ? 'on' : 'off');
  };
  const begin = async (): Promise<void> => {
    await client.subscribeAsync([`${topic}/command`, `${topic}/+/+/command`, 'shellies/command']);
    await publish(`${topic}/online`, 'true', true);
    await announce();
    await update();
  };
  client.on('error', () => undefined);
  client.on('message', (place, payload) => {
    if (place.startsWith(`${topic}/`)) void take(place.slice(topic.length + 1), payload.toString('utf8'));
    else foreign.push(place);
  });
  client.on('connect', () => void begin());
  await begin();
  return {
    client,
    commands,
    foreign,
    report,
    crash: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}

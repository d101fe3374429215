import { connectAsync, type MqttClient } from 'mqtt';
import { type EspHome, espHomeMessages } from './gateways/discovery-announcements.ts';

export type SimulatedEspHome = AsyncDisposable & {
  client: MqttClient;
  /** What was published on its topics of commands, by the end of the topic. */
  commands: { end: string; payload: string }[];
  /** Messages on topics that are not its own. */
  foreign: string[];
  /** Retained, as it publishes all states. @param end such as `sensor/temperature`. */
  report(end: string, value: unknown): Promise<void>;
  /** A press is not retained. */
  press(end: string, type: string): Promise<void>;
  /** As a person does it in its YAML. */
  rename(name: string): Promise<void>;
  /** A person takes a component out, or all of them. @param only part of a topic. */
  remove(only?: string): Promise<void>;
  /** Its process ends: the broker publishes its last will. */
  crash(): void;
};

/** Publishes what an ESPHome publishes, and does what it is told (esphome.io, "MQTT Client Component", and its component `mqtt`). */
export async function startEspHome(
  address: string,
  login: { username: string; password: string },
  node: EspHome,
  prefix = 'homeassistant',
): Promise<SimulatedEspHome> {
  const { name, topicPrefix } = node;
  const will = { topic: `${topicPrefix}/status`, payload: Buffer.from('offline'), qos: 0, retain: true } as const;
  const client = await connectAsync(address, { ...login, clientId: name, will, reconnectPeriod: 500 }, false);
  const commands: SimulatedEspHome['commands'] = [];
  const foreign: string[] = [];
  const states = new Map<string, unknown>([
    ['light/ceiling', { state: 'OFF', brightness: 255, color_mode: 'rgb', color: { r: 255, g: 255, b: 255 } }],
    ['sensor/temperature', '21.5'],
    ['switch/led', 'OFF'],
    ['lock/door', 'LOCKED'],
  ]);
  let calledSo = node.friendlyName;
  const publish = async (topic: string, body: unknown, retain = true): Promise<void> => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    await client.publishAsync(topic, payload, { qos: 1, retain });
  };
  const report = async (end: string, value: unknown): Promise<void> => {
    states.set(end, value);
    await publish(`${topicPrefix}/${end}/state`, value);
  };
  const messages = () => Object.entries(espHomeMessages({ ...node, friendlyName: calledSo }));
  const announce = async (): Promise<void> => {
    for (const [topic, message] of messages()) await publish(`${prefix}/${topic}`, message);
    for (const [end, value] of states) await publish(`${topicPrefix}/${end}/state`, value);
  };
  const take = async (end: string, payload: string): Promise<void> => {
    commands.push({ end, payload });
    const before = states.get(end);
    if (end.startsWith('light/')) await report(end, { ...(before as object), ...(JSON.parse(payload) as object) });
    if (end.startsWith('switch/')) await report(end, payload);
    if (end.startsWith('lock/')) await report(end, `${payload}ED`);
  };
  const begin = async (): Promise<void> => {
    await client.subscribeAsync(`${topicPrefix}/+/+/command`);
    await publish(`${topicPrefix}/status`, 'online');
    await announce();
  };
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    const [, end] = topic.startsWith(`${topicPrefix}/`)
      ? (/^(\w+\/\w+)\/command$/.exec(topic.slice(topicPrefix.length + 1)) ?? [])
      : [];
    if (end === undefined) foreign.push(topic);
    else void take(end, payload.toString('utf8'));
  });
  client.on('connect', () => void begin());
  await begin();
  return {
    client,
    commands,
    foreign,
    report,
    press: (end, type) => publish(`${topicPrefix}/${end}/state`, { event_type: type }, false),
    rename: async (now) => {
      calledSo = now;
      await announce();
    },
    remove: async (only = '') => {
      for (const [topic] of messages()) if (topic.includes(only)) await publish(`${prefix}/${topic}`, '');
    },
    crash: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}

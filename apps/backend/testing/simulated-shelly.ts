import { connectAsync, type MqttClient } from 'mqtt';
import { shellyConfig, shellyInfo, shellyStatus } from './gateways/shelly-answers.ts';

export type SimulatedShelly = AsyncDisposable & {
  client: MqttClient;
  /** What it was told, without questions. */
  commands: { method: string; params: unknown }[];
  /** Messages on topics that are not its own. */
  foreign: string[];
  /** A component says that something changed. */
  report(component: string, change: Readonly<Record<string, unknown>>): Promise<void>;
  event(component: string, event: string): Promise<void>;
  /** As a person does it in its own pages. */
  rename(name: string): Promise<void>;
  /** Its process ends: the broker publishes its last will. */
  crash(): void;
};

type Frame = { id: number; src: string; method: string; params?: Record<string, unknown> };

/** Publishes what a Shelly publishes, and does what it is told (shelly-api-docs.shelly.cloud, "MQTT" and "RPC Protocol"). */
export async function startShelly(
  address: string,
  login: { username: string; password: string },
  { prefix, id, name }: { prefix: string; id: string; name: string },
): Promise<SimulatedShelly> {
  const will = { topic: `${prefix}/online`, payload: Buffer.from('false'), qos: 1, retain: true } as const;
  const client = await connectAsync(address, { ...login, clientId: id, will, reconnectPeriod: 500 }, false);
  const commands: SimulatedShelly['commands'] = [];
  const foreign: string[] = [];
  const status: Record<string, Record<string, unknown>> = structuredClone(shellyStatus);
  let calledSo = name;
  const publish = async (topic: string, body: unknown, retain = false): Promise<void> => {
    await client.publishAsync(topic, JSON.stringify(body), { qos: 1, retain });
  };
  const notify = (method: string, params: object): Promise<void> =>
    publish(`${prefix}/events/rpc`, { src: id, dst: `${prefix}/events`, method, params: { ts: 1, ...params } });
  const report = async (component: string, change: Readonly<Record<string, unknown>>): Promise<void> => {
    status[component] = { ...status[component], ...change };
    await notify('NotifyStatus', { [component]: { id: 0, ...change } });
  };
  const answers: Readonly<Record<string, () => unknown>> = {
    'Shelly.GetDeviceInfo': () => shellyInfo({ id, name: calledSo }),
    'Shelly.GetConfig': () => shellyConfig(calledSo),
    'Shelly.GetStatus': () => status,
  };
  const take = async ({ id: number, src, method, params }: Frame): Promise<void> => {
    const question = answers[method];
    if (question === undefined) commands.push({ method, params });
    if (method === 'Switch.Set') await report('switch:0', { output: params?.['on'] === true });
    if (method === 'Switch.Toggle') await report('switch:0', { output: status['switch:0']?.['output'] !== true });
    const result = question === undefined ? { was_on: false } : question();
    await publish(`${src}/rpc`, { id: number, src: id, dst: src, result });
  };
  const begin = async (): Promise<void> => {
    await client.subscribeAsync(`${prefix}/rpc`);
    await publish(`${prefix}/online`, true, true);
  };
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    if (topic === `${prefix}/rpc`) void take(JSON.parse(payload.toString('utf8')) as Frame);
    else foreign.push(topic);
  });
  client.on('connect', () => void begin());
  await begin();
  return {
    client,
    commands,
    foreign,
    report,
    event: (component, event) => notify('NotifyEvent', { events: [{ component, id: 0, event, ts: 1 }] }),
    rename: async (now) => {
      calledSo = now;
      await notify('NotifyEvent', { events: [{ component: 'sys', event: 'config_changed', restart_required: false }] });
    },
    crash: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}

import { connectAsync, type MqttClient } from 'mqtt';
import { type TasmotaConfig, tasmotaConfig } from './gateways/tasmota-announcements.ts';

export type SimulatedTasmota = AsyncDisposable & {
  client: MqttClient;
  /** What was published on its topics of commands. */
  commands: { name: string; payload: string }[];
  /** Messages on topics that are not of its trees. */
  foreign: string[];
  config: Record<string, unknown>;
  announce(): Promise<void>;
  report(change: Readonly<Record<string, unknown>>): Promise<void>;
  sense(values: Readonly<Record<string, unknown>>): Promise<void>;
  /** As a person does it in its own pages. */
  rename(name: string): Promise<void>;
  /** A person switches its discovery off. */
  remove(): Promise<void>;
  /** Its process ends: the broker publishes its last will. */
  crash(): void;
};

/** Publishes what a Tasmota publishes, and does what it is told (tasmota.github.io, "MQTT" and "Commands"). */
export async function startTasmota(
  address: string,
  login: { username: string; password: string },
  announced: TasmotaConfig = tasmotaConfig(),
  sensors: Readonly<Record<string, unknown>> = {},
): Promise<SimulatedTasmota> {
  const config: Record<string, unknown> = { ...announced };
  const { t: topic, mac } = announced;
  const will = { topic: `tele/${topic}/LWT`, payload: Buffer.from('Offline'), qos: 1, retain: true } as const;
  const client = await connectAsync(address, { ...login, clientId: topic, will, reconnectPeriod: 500 }, false);
  const commands: SimulatedTasmota['commands'] = [];
  const foreign: string[] = [];
  const state: Record<string, unknown> = { POWER: 'OFF' };
  let values = sensors;
  const publish = async (place: string, body: unknown, retain = false): Promise<void> => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    await client.publishAsync(place, payload, { qos: retain ? 1 : 0, retain });
  };
  const discovery = `tasmota/discovery/${mac}`;
  const announce = async (): Promise<void> => {
    await publish(`${discovery}/config`, config, true);
    await publish(`${discovery}/sensors`, { sn: { Time: 'now', ...values }, ver: 1 }, true);
  };
  const report = async (change: Readonly<Record<string, unknown>>): Promise<void> => {
    Object.assign(state, change);
    await publish(`stat/${topic}/RESULT`, change);
  };
  const answers: Readonly<Record<string, (payload: string) => Promise<void>>> = {
    STATE: () => publish(`stat/${topic}/RESULT`, { Time: 'now', ...state, Wifi: { RSSI: 80 } }),
    STATUS: () => publish(`stat/${topic}/STATUS10`, { StatusSNS: { Time: 'now', ...values } }),
    POWER1: (payload) => {
      const isOn = payload === 'TOGGLE' ? state['POWER'] !== 'ON' : payload === 'ON';
      return report({ POWER: isOn ? 'ON' : 'OFF' });
    },
    Dimmer: (payload) => report({ Dimmer: Number(payload) }),
  };
  const begin = async (): Promise<void> => {
    await client.subscribeAsync(`cmnd/${topic}/#`);
    await publish(`tele/${topic}/LWT`, 'Online', true);
    await announce();
  };
  client.on('error', () => undefined);
  client.on('message', (place, payload) => {
    if (!place.startsWith('cmnd/')) foreign.push(place);
    const name = place.slice(`cmnd/${topic}/`.length);
    const text = payload.toString('utf8');
    if (name !== 'STATE' && name !== 'STATUS') commands.push({ name, payload: text });
    void answers[name]?.(text);
  });
  client.on('connect', () => void begin());
  await begin();
  return {
    client,
    commands,
    foreign,
    config,
    announce,
    report,
    sense: async (measured) => {
      values = measured;
      await publish(`tele/${topic}/SENSOR`, { Time: 'now', ...values });
    },
    rename: async (name) => {
      config['dn'] = name;
      await announce();
    },
    remove: async () => {
      await publish(`${discovery}/config`, '', true);
      await publish(`${discovery}/sensors`, '', true);
    },
    crash: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}

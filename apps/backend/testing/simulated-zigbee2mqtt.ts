import { connectAsync, type MqttClient } from 'mqtt';

/** A device of the simulated network: as it is announced, and its state in the words of Zigbee2MQTT. */
export type SimulatedZigbeeDevice = {
  entry: { ieee_address: string; friendly_name: string } & Record<string, unknown>;
  state: Record<string, unknown>;
};

/** A group of it, and its state. */
export type SimulatedZigbeeGroup = {
  id: number;
  friendly_name: string;
  members: { ieee_address: string }[];
  scenes?: { id: number; name: string }[];
};

export type SimulatedZigbee2Mqtt = AsyncDisposable & {
  client: MqttClient;
  /** What was published on the topics of commands. */
  commands: { name: string; payload: unknown }[];
  /** Messages on topics that are not of its tree. */
  foreign: string[];
  devices: SimulatedZigbeeDevice[];
  groups: SimulatedZigbeeGroup[];
  announce(): Promise<void>;
  report(name: string, change: Record<string, unknown>): Promise<void>;
  available(name: string, state: 'online' | 'offline'): Promise<void>;
  /** As a person does it in its own pages. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  removeGroup(name: string): Promise<void>;
  /** Its process ends: the broker publishes its last will. */
  crash(): void;
};

const coordinator = {
  ieee_address: '0x00124b0000000001',
  type: 'Coordinator',
  friendly_name: 'Coordinator',
  definition: null,
};

/** Publishes what a Zigbee2MQTT publishes, and does what it is told (zigbee2mqtt.io, "MQTT Topics and Messages"). */
export async function startZigbee2Mqtt(
  address: string,
  { base = 'zigbee2mqtt', ...login }: { base?: string; username: string; password: string },
  devices: SimulatedZigbeeDevice[],
  groups: SimulatedZigbeeGroup[] = [],
): Promise<SimulatedZigbee2Mqtt> {
  const will = {
    topic: `${base}/bridge/state`,
    payload: Buffer.from('{"state":"offline"}'),
    qos: 1,
    retain: true,
  } as const;
  const client = await connectAsync(address, { ...login, will, reconnectPeriod: 500 }, false);
  const commands: SimulatedZigbee2Mqtt['commands'] = [];
  const foreign: string[] = [];
  const publish = async (topic: string, body: unknown, retain = false): Promise<void> => {
    await client.publishAsync(`${base}/${topic}`, JSON.stringify(body), { qos: retain ? 1 : 0, retain });
  };
  const find = (name: string): SimulatedZigbeeDevice | undefined =>
    devices.find(({ entry }) => entry.friendly_name === name);
  const announce = async (): Promise<void> => {
    const announced = groups.map((group) => ({ scenes: [], description: null, ...group }));
    await publish('bridge/groups', announced, true);
    await publish('bridge/devices', [coordinator, ...devices.map(({ entry }) => entry)], true);
  };
  const report = async (name: string, change: Record<string, unknown>): Promise<void> => {
    const device = find(name);
    if (device === undefined) return;
    Object.assign(device.state, change);
    await publish(name, device.state);
  };
  const begin = async (): Promise<void> => {
    await client.subscribeAsync(`${base}/#`, { qos: 0 });
    await publish('bridge/state', { state: 'online' }, true);
    await announce();
  };
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    if (!topic.startsWith(`${base}/`)) foreign.push(topic);
    if (!topic.endsWith('/set')) return;
    const name = topic.slice(base.length + 1, -'/set'.length);
    const body = JSON.parse(payload.toString('utf8')) as Record<string, unknown>;
    commands.push({ name, payload: body });
    // Its devices have the values of a scene, which it may not know.
    if (body['scene_recall'] !== undefined) return;
    const state = find(name)?.state['state'];
    if (body['state'] === 'TOGGLE') body['state'] = state === 'ON' ? 'OFF' : 'ON';
    const group = groups.find(({ friendly_name: own }) => own === name);
    if (group === undefined) {
      void report(name, body);
      return;
    }
    void publish(name, body);
    for (const { entry } of devices)
      if (group.members.some(({ ieee_address: address }) => address === entry.ieee_address))
        void report(entry.friendly_name, body);
  });
  client.on('connect', () => void begin());
  await begin();
  return {
    client,
    commands,
    foreign,
    devices,
    groups,
    announce,
    report,
    available: (name, state) => publish(`${name}/availability`, { state }, true),
    rename: async (from, to) => {
      const device = find(from);
      if (device !== undefined) device.entry.friendly_name = to;
      await announce();
    },
    remove: async (name) => {
      const at = devices.findIndex(({ entry }) => entry.friendly_name === name);
      if (at >= 0) devices.splice(at, 1);
      await announce();
      await publish('bridge/response/device/remove', { data: { id: name, block: false, force: false }, status: 'ok' });
    },
    removeGroup: async (name) => {
      const at = groups.findIndex(({ friendly_name: own }) => own === name);
      if (at >= 0) groups.splice(at, 1);
      await announce();
      await publish('bridge/response/group/remove', { data: { id: name, force: false }, status: 'ok' });
    },
    crash: () => {
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}

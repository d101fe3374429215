import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { NetworkState } from '@station/protocol/agent-network';
import type { AgentClient } from '../adapters/agent-client.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Mqtt, MqttConfig } from '../mqtt/mqtt.ts';
import { type BrokerAddressFacts, decideBrokerAddress } from './broker-address-decide.ts';
import type { Expected } from './expected-devices.ts';
import { type Provisionings, startProvisionings } from './provisioning-service.ts';
import type { ProvisioningStore } from './provisioning-store.ts';
import type { BleConfig, Radio } from './radio.ts';
import type { WriteParts } from './radio-writes.ts';

/** Adds devices over radio, or with a login that a person enters. */
export type Provisioning = AsyncDisposable &
  Pick<WriteParts, 'stationId' | 'brokerAddress'> & {
    store: ProvisioningStore;
    provisionings: Provisionings;
    radio: Radio;
  };

export function startProvisioning(parts: {
  config: { mqtt: MqttConfig; deviceBroker: DeviceBrokerConfig; ble: BleConfig };
  store: ProvisioningStore;
  expected: Expected;
  radio: Radio;
  mqtt: Mqtt;
  agent: Pick<AgentClient, 'call'>;
  stationId: string;
  events: DeviceEvents;
  leadership: Leadership;
  trustedTime?: TrustedTime;
  clock: Clock;
  logger: BackendLogger;
}): Provisioning {
  const { config, store, radio, mqtt, agent, stationId, clock } = parts;
  const { kind } = config.mqtt;
  const url = mqtt.address ?? (config.mqtt.kind === 'external' ? config.mqtt.url : '');
  const brokerAddress = createBrokerAddress({ config: config.deviceBroker, mqtt: { kind, url }, agent, clock });
  const { addLogins, isReady, reconnect } = mqtt;
  const broker = { kind, addLogins, isReady, reconnect };
  const provisionings = startProvisionings({ ...parts, broker, uuids: config.ble, brokerAddress });
  const { [Symbol.asyncDispose]: dispose } = provisionings;
  return { store, provisionings, radio, stationId, brokerAddress, [Symbol.asyncDispose]: dispose };
}

export type DeviceBrokerConfig = {
  /** DEVICE_MQTT_HOST and DEVICE_MQTT_PORT; null: the station finds out. */
  host: string | null;
  port: number | null;
  publicUrl: string;
  isPublicUrlSet: boolean;
};

const agentWithinMs = 2_000;
const freshMs = 5_000;

/** Where devices of a network reach the broker (`broker-address-decide.ts`). @param mqtt of the embedded broker, or MQTT_URL. */
function createBrokerAddress(parts: {
  config: DeviceBrokerConfig;
  mqtt: { kind: 'embedded' | 'external'; url: string };
  agent: Pick<AgentClient, 'call'>;
  clock: Clock;
}): (ssid: string | null) => Promise<{ host: string; port: number }> {
  const { config, mqtt, agent, clock } = parts;
  let asked: { machine: Promise<MachineFacts>; atMs: number } | null = null;
  const { hostname, port } = new URL(mqtt.url);
  const broker = { kind: mqtt.kind, host: plain(hostname), port: port === '' ? null : Number(port) };
  const publicUrl = { host: plain(new URL(config.publicUrl).hostname), isSet: config.isPublicUrlSet };
  return async (ssid) => {
    const isFresh = asked !== null && clock.monotonic() - asked.atMs < freshMs;
    if (asked === null || !isFresh) asked = { machine: machineOf(agent), atMs: clock.monotonic() };
    const { station, mdnsName } = await asked.machine;
    return decideBrokerAddress({ configured: config, broker, publicUrl, station, mdnsName, ssid });
  };
}

/** An IPv6 address has brackets in a URL. */
const plain = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

type MachineFacts = Required<Pick<BrokerAddressFacts, 'station' | 'mdnsName'>>;

async function machineOf(agent: Pick<AgentClient, 'call'>): Promise<MachineFacts> {
  try {
    const { body } = await agent.call('GET', '/network', { timeoutMs: agentWithinMs });
    if (!Value.Check(NetworkState, body)) return { station: null, mdnsName: null };
    const { mode, ssid, ip } = body.wifi;
    const isIn = mode === 'client' && ssid !== null && ip !== null;
    // An agent of an older release says only where it should be found.
    const { mdnsName = plain(new URL(body.stationAddress).hostname) } = body;
    return { station: isIn ? { ssid, address: ip.replace(/\/\d+$/, '') } : null, mdnsName };
  } catch {
    // Without the agent its network is not known.
    return { station: null, mdnsName: null };
  }
}

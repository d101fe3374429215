import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { MachineNetwork } from './adapters/machine-network.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Mqtt, MqttConfig } from '../mqtt/mqtt.ts';
import { decideBrokerAddress } from './broker-address-decide.ts';
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
  config: ProvisioningConfig;
  store: ProvisioningStore;
  expected: Expected;
  radio: Radio;
  mqtt: Mqtt;
  network: () => Promise<MachineNetwork>;
  stationId: string;
  events: DeviceEvents;
  leadership: Leadership;
  trustedTime?: TrustedTime;
  clock: Clock;
  logger: BackendLogger;
}): Provisioning {
  const { config, store, radio, mqtt, network, stationId } = parts;
  const { kind } = config.mqtt;
  const url = mqtt.addresses[0] ?? (config.mqtt.kind === 'external' ? config.mqtt.url : '');
  const brokerAddress = createBrokerAddress({ config: config.deviceBroker, mqtt: { kind, url }, network });
  const { addLogins, isReady, reconnect } = mqtt;
  const broker = { kind, addLogins, isReady, reconnect };
  const provisionings = startProvisionings({ ...parts, broker, uuids: config.ble, brokerAddress });
  const { [Symbol.asyncDispose]: dispose } = provisionings;
  return { store, provisionings, radio, stationId, brokerAddress, [Symbol.asyncDispose]: dispose };
}

export type ProvisioningConfig = { mqtt: MqttConfig; deviceBroker: DeviceBrokerConfig; ble: BleConfig };

export type DeviceBrokerConfig = {
  /** DEVICE_MQTT_HOST and DEVICE_MQTT_PORT; null: the station finds out. */
  host: string | null;
  port: number | null;
  publicUrl: string;
  isPublicUrlSet: boolean;
};

/** Where devices of a network reach the broker (`broker-address-decide.ts`). @param mqtt of the embedded broker, or MQTT_URL. */
function createBrokerAddress(parts: {
  config: DeviceBrokerConfig;
  mqtt: { kind: 'embedded' | 'external'; url: string };
  network: () => Promise<MachineNetwork>;
}): (ssid: string | null) => Promise<{ host: string; port: number }> {
  const { config, mqtt, network } = parts;
  const { hostname, port } = new URL(mqtt.url);
  const broker = { kind: mqtt.kind, host: plain(hostname), port: port === '' ? null : Number(port) };
  const publicUrl = { host: plain(new URL(config.publicUrl).hostname), isSet: config.isPublicUrlSet };
  return async (ssid) => {
    const { station, mdnsName } = await network();
    return decideBrokerAddress({ configured: config, broker, publicUrl, station, mdnsName, ssid });
  };
}

/** An IPv6 address has brackets in a URL. */
const plain = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

import { foundName } from '@station/protocol/station-name';

/** Decides at which address devices reach the broker. Pure. */

export type BrokerAddressFacts = {
  /** DEVICE_MQTT_HOST and DEVICE_MQTT_PORT. */
  configured: { host: string | null; port: number | null };
  /** `host`: what the embedded broker listens on, or the host of MQTT_URL. `port` null: MQTT_URL names none. */
  broker: { kind: 'embedded' | 'external'; host: string; port: number | null };
  publicUrl: { host: string; isSet: boolean };
  /** Of the station in its Wi-Fi, from the agent; null: not known. */
  station: { ssid: string; address: string } | null;
  /** The name of the machine in multicast DNS, from the agent; null or absent: it has none. */
  mdnsName?: string | null;
  /** The network that the device will join; null: not known. */
  ssid: string | null;
};

const defaultPort = 1883;

export function decideBrokerAddress(facts: BrokerAddressFacts): { host: string; port: number } {
  const { configured, broker } = facts;
  const isNamed = configured.host === null && isReachable(broker);
  return {
    host: configured.host ?? decideHost(facts),
    // The compose file sets the port for the stack's own broker.
    port: (isNamed ? (broker.port ?? configured.port) : (configured.port ?? broker.port)) ?? defaultPort,
  };
}

function decideHost({ broker, publicUrl, station, mdnsName = null, ssid }: BrokerAddressFacts): string {
  const isLocal = isLoopback(broker.host);
  const name = foundName(publicUrl.host, mdnsName);
  const address = station !== null && station.ssid === ssid ? station.address : null;
  // A name of multicast DNS that this machine does not have leads nowhere, or to another station.
  const isNameless = name.endsWith('.local') && mdnsName === null && address !== null;
  if (isReachable(broker)) return broker.host;
  if (publicUrl.isSet && !isNameless && (isLocal || !isLoopback(publicUrl.host))) return name;
  return address ?? (isLocal ? broker.host : name);
}

/** A name without a dot is the one of a container, which only other containers know. */
const isReachable = ({ kind, host }: BrokerAddressFacts['broker']): boolean =>
  kind === 'external' && !isLoopback(host) && /[.:]/.test(host);

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);

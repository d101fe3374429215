import { isRecord, textIn } from './foreign-values-decide.ts';

/** What the topics of a Zigbee2MQTT below its base topic are for (zigbee2mqtt.io, "MQTT Topics and Messages"). */
export type BridgeTopic =
  | { kind: 'devices' | 'bridge_state' | 'removal' | 'other' }
  | { kind: 'availability' | 'state'; name: string };

const availability = '/availability';

/** @param rest the topic behind the base topic and a slash. */
export function readTopic(rest: string): BridgeTopic {
  if (rest === 'bridge/devices') return { kind: 'devices' };
  if (rest === 'bridge/state') return { kind: 'bridge_state' };
  if (rest === 'bridge/response/device/remove') return { kind: 'removal' };
  if (rest.startsWith('bridge/')) return { kind: 'other' };
  if (rest.endsWith(availability)) return { kind: 'availability', name: rest.slice(0, -availability.length) };
  return { kind: 'state', name: rest };
}

const maxDevices = 500;

/** The list of `bridge/devices`. Null: it is none, as without the coordinator, which every network has. */
export function readList(payload: unknown): readonly unknown[] | null {
  if (!Array.isArray(payload)) return null;
  const isNetwork = payload.some((entry) => isRecord(entry) && entry['type'] === 'Coordinator');
  return isNetwork ? payload.slice(0, maxDevices + 1) : null;
}

/** Name or address of a device that a person removed at the gateway; null: nobody did. */
export function readRemoval(payload: unknown): string | null {
  if (!isRecord(payload) || payload['status'] !== 'ok' || !isRecord(payload['data'])) return null;
  return textIn(payload['data'], 'id');
}

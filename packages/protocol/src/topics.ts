/**
 * MQTT topics of devices, `station/{stationId}/device/{externalId}/…` (contracts, section 8), and the limits of their payloads.
 */

/** Ends of the topics that a device publishes to. */
export const deviceTopicEnds = ['handshake', 'state', 'event', 'heartbeat'] as const;
export type DeviceTopicEnd = (typeof deviceTopicEnds)[number];

/** Ends of the topics that a device reads. */
export const stationTopicEnds = ['handshake/ack', 'command'] as const;
export type StationTopicEnd = (typeof stationTopicEnds)[number];

export type DeviceTopic = { stationId: string; externalId: string; end: DeviceTopicEnd };

/** Bytes. */
export const maxPayloadBytes = 256 * 1024;
/** Bytes that the list of a gateway's devices may have. */
export const maxGatewayPayloadBytes = 4 * 1024 * 1024;
export const externalIdText = { minLength: 1, maxLength: 64 } as const;

/** No wildcards, separators or control characters (MQTT 3.1.1, sections 1.5.3 and 4.7). */
const externalIdPattern = /^[^/+#\u0000-\u001f\u007f]+$/;

/** What the backend subscribes to (specification, "MQTT subscriptions"). */
export const subscriptions: readonly string[] = deviceTopicEnds.map((end) => `station/+/device/+/${end}`);

/** Whether it can be one level of a topic. */
export const isExternalId = (text: string): boolean =>
  text.length <= externalIdText.maxLength && externalIdPattern.test(text);

/** @throws {RangeError} when the external id cannot be part of a topic. */
export function deviceTopic(stationId: string, externalId: string, end: DeviceTopicEnd | StationTopicEnd): string {
  if (!isExternalId(externalId)) throw new RangeError('The external id cannot be part of a topic');
  return `station/${stationId}/device/${externalId}/${end}`;
}

/** Whether a topic, or every topic of another filter, matches a filter (MQTT 3.1.1, section 4.7). */
export function coversTopics(filter: string, topics: string): boolean {
  const levels = filter.split('/');
  const others = topics.split('/');
  // Wildcards leave out the topics of the broker itself.
  if (/^[+#]/.test(filter) && topics.startsWith('$')) return false;
  for (const [index, level] of levels.entries()) {
    if (level === '#') return true;
    const other = others[index];
    if (other === undefined || (level === '+' ? other === '#' : other !== level)) return false;
  }
  return others.length === levels.length;
}

/** Null when it is not a topic that a device publishes to. */
export function parseDeviceTopic(topic: string): DeviceTopic | null {
  const [station, stationId = '', device, externalId = '', last = '', ...more] = topic.split('/', 6);
  if (station !== 'station' || device !== 'device' || more.length > 0) return null;
  const end = deviceTopicEnds.find((known) => known === last);
  if (end === undefined || stationId === '' || !isExternalId(externalId)) return null;
  return { stationId, externalId, end };
}

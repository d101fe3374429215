import type { NotSupported, Refusal } from '@station/protocol/gateways';
import type { AnnouncedList, Availability, Dialect, DialectDevice, Known, Said } from '../dialect.ts';
import { isRecord, textIn } from '../foreign-values-decide.ts';
import { parsed, readState } from '../payloads-decide.ts';
import { describe, isMisnamed } from './describe-decide.ts';

/** What the topics of a Zigbee2MQTT below its base topic are for (zigbee2mqtt.io, "MQTT Topics and Messages"). */
type BridgeTopic =
  | { kind: 'devices' | 'bridge_state' | 'removal' | 'other' }
  | { kind: 'availability' | 'state'; name: string };

const availability = '/availability';

/** @param rest the topic behind the base topic and a slash. */
function readTopic(rest: string): BridgeTopic {
  if (rest === 'bridge/devices') return { kind: 'devices' };
  if (rest === 'bridge/state') return { kind: 'bridge_state' };
  if (rest === 'bridge/response/device/remove') return { kind: 'removal' };
  if (rest.startsWith('bridge/')) return { kind: 'other' };
  if (rest.endsWith(availability)) return { kind: 'availability', name: rest.slice(0, -availability.length) };
  return { kind: 'state', name: rest };
}

const maxDevices = 500;

/** The list of `bridge/devices`. Null: it is none, as without the coordinator, which every network has. */
function readList(payload: unknown): readonly unknown[] | null {
  if (!Array.isArray(payload)) return null;
  const isNetwork = payload.some((entry) => isRecord(entry) && entry['type'] === 'Coordinator');
  return isNetwork ? payload : null;
}

/** Name or address of a device that a person removed at the gateway; null: nobody did. */
function readRemoval(payload: unknown): string | null {
  if (!isRecord(payload) || payload['status'] !== 'ok' || !isRecord(payload['data'])) return null;
  return textIn(payload['data'], 'id');
}

/** `{"state":"online"}`, or the text alone as older releases publish it. Null: it says neither. */
function readAvailability(text: string): Availability | null {
  const payload = parsed(text);
  const state = isRecord(payload) ? payload['state'] : payload;
  return state === 'online' || state === 'offline' ? state : null;
}

export const zigbee2mqtt: Dialect<null> = {
  trees: ({ base }) => [base],
  isList: (base, topic) => topic === `${base}/bridge/devices`,
  isEachForItself: false,
  remember: () => null,
  read: ({ base, topic, text }, known) => {
    const about = readTopic(topic.slice(base.length + 1));
    switch (about.kind) {
      case 'devices':
        return [{ kind: 'list', devices: () => listed(base, text) }];
      case 'bridge_state':
        return saidOf(readAvailability(text), (state) => [{ kind: 'gateway', availability: state }]);
      case 'removal':
        return removedOf(base, readRemoval(parsed(text)), known);
      case 'availability':
        return saidOf(readAvailability(text), (state) =>
          known.at(`${base}/${about.name}`).map((device) => ({ kind: 'available', device, availability: state })),
        );
      case 'state':
        return known
          .at(topic)
          .flatMap((device) =>
            saidOf(readState(device.plan, parsed(text)), (report) => [{ kind: 'report', device, report }]),
          );
      case 'other':
        return [];
    }
  },
  write: ({ topics }, payload) => [{ topic: topics.command, payload: JSON.stringify(payload) }],
};

const saidOf = <T>(value: T | null, say: (value: T) => Said[]): Said[] => (value === null ? [] : say(value));

function listed(base: string, text: string): AnnouncedList | null {
  const list = readList(parsed(text));
  if (list === null) return null;
  // The coordinator is among them.
  const taken = list.slice(0, maxDevices + 1);
  const rest: readonly NotSupported[] = list.slice(maxDevices + 1).map((entry) => refused(entry, 'no_room'));
  return {
    devices: taken.flatMap((entry) => describe(entry, base) ?? []),
    refused: [...rest, ...taken.filter(isMisnamed).map((entry) => refused(entry, 'incomplete'))],
  };
}

const refused = (entry: unknown, reason: Refusal): NotSupported => ({
  name: isRecord(entry) ? (textIn(entry, 'friendly_name') ?? textIn(entry, 'ieee_address') ?? '') : '',
  reason,
  detail: null,
});

function removedOf(base: string, id: string | null, known: Known<null>): Said[] {
  if (id === null) return [];
  const [named] = known.at(`${base}/${id}`);
  const device: DialectDevice | undefined = named ?? known.find(`zigbee2mqtt:${id.toLowerCase()}`);
  return device === undefined ? [] : [{ kind: 'removed', device }];
}

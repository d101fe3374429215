import type { NotSupported, Refusal } from '@station/protocol/gateways';
import { ownValue } from '@station/protocol/own-value';
import type { AnnouncedDevice, AnnouncedList, Availability, Dialect, DialectDevice, Known, Said } from '../dialect.ts';
import { isRecord, textIn } from '../foreign-values-decide.ts';
import { parsed, readState } from '../payloads-decide.ts';
import { describe, interviewed, isMisnamed, memberOf } from './describe-decide.ts';
import { groupOf, isGroup, listGroups, type Members } from './groups-decide.ts';

/** What the topics of a Zigbee2MQTT below its base topic are for (zigbee2mqtt.io, "MQTT Topics and Messages"). */
type BridgeTopic =
  | { kind: 'devices' | 'groups' | 'bridge_state' | 'removal' | 'group_removal' | 'other' }
  | { kind: 'availability' | 'state'; name: string };

const availability = '/availability';

/** @param rest the topic behind the base topic and a slash. */
function readTopic(rest: string): BridgeTopic {
  if (rest === 'bridge/devices') return { kind: 'devices' };
  if (rest === 'bridge/groups') return { kind: 'groups' };
  if (rest === 'bridge/response/group/remove') return { kind: 'group_removal' };
  if (rest === 'bridge/state') return { kind: 'bridge_state' };
  if (rest === 'bridge/response/device/remove') return { kind: 'removal' };
  if (rest.startsWith('bridge/')) return { kind: 'other' };
  if (rest.endsWith(availability)) return { kind: 'availability', name: rest.slice(0, -availability.length) };
  return { kind: 'state', name: rest };
}

const maxDevices = 500;
/** Characters of the list of groups, which is kept. */
const longestGroups = 65_536;

/** The list of `bridge/devices`. Null: it is none, as without the coordinator, which every network has. */
function readList(payload: unknown): readonly unknown[] | null {
  if (!Array.isArray(payload)) return null;
  const isNetwork = payload.some((entry) => isRecord(entry) && entry['type'] === 'Coordinator');
  return isNetwork ? payload : null;
}

/** Name, address or number of what a person removed at the gateway; null: nobody did. */
function readRemoval(payload: unknown): string | null {
  if (!isRecord(payload) || payload['status'] !== 'ok' || !isRecord(payload['data'])) return null;
  const id = ownValue(payload['data'], 'id');
  return typeof id === 'number' ? String(id) : textIn(payload['data'], 'id');
}

/** `{"state":"online"}`, or the text alone as older releases publish it. Null: it says neither. */
function readAvailability(text: string): Availability | null {
  const payload = parsed(text);
  const state = isRecord(payload) ? payload['state'] : payload;
  return state === 'online' || state === 'offline' ? state : null;
}

/** Of announcements: a group is made of what its members have, and they are in another list. */
type Memory = { members: Members; groups: unknown };

export const zigbee2mqtt: Dialect<Memory> = {
  trees: ({ base }) => [base],
  isList: (base, topic) => topic === `${base}/bridge/devices` || topic === `${base}/bridge/groups`,
  isEachForItself: false,
  lastWill: {
    usual: ['+/bridge/state'],
    baseTopic: (topic) => /^(.+)\/bridge\/state$/.exec(topic)?.[1] ?? null,
  },
  remember: () => ({ members: new Map(), groups: null }),
  read: ({ base, topic, text }, known) => {
    const about = readTopic(topic.slice(base.length + 1));
    switch (about.kind) {
      case 'devices':
        return [
          { kind: 'list', of: 'devices', devices: () => listed(base, text, known.memory) },
          { kind: 'list', of: 'groups', devices: () => listGroups(known.memory.groups, known.memory.members, base) },
        ];
      case 'groups':
        return [{ kind: 'list', of: 'groups', devices: () => groupsIn(base, text, known.memory) }];
      case 'bridge_state':
        return saidOf(readAvailability(text), (state) => [{ kind: 'gateway', availability: state }]);
      case 'removal':
        return removedOf(base, readRemoval(parsed(text)), known, (id) => `zigbee2mqtt:${id.toLowerCase()}`);
      case 'group_removal':
        return removedOf(base, readRemoval(parsed(text)), known, groupOf);
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

function listed(base: string, text: string, memory: Memory): AnnouncedList | null {
  const list = readList(parsed(text));
  if (list === null) return null;
  // The coordinator is among them.
  const taken = list.slice(0, maxDevices + 1);
  const rest: readonly NotSupported[] = list.slice(maxDevices + 1).map((entry) => refused(entry, 'no_room'));
  const inInterview = new Set(taken.flatMap((entry) => interviewed(entry) ?? []));
  memory.members.clear();
  return {
    isOf: (externalId) => !isGroup(externalId) && !inInterview.has(externalId),
    refused: [...rest, ...taken.filter(isMisnamed).map((entry) => refused(entry, 'incomplete'))],
    devices: describeAll(taken, base, memory),
  };
}

/** Each when it is asked for, and its entry forgotten. */
function* describeAll(entries: unknown[], base: string, { members }: Memory): Iterable<AnnouncedDevice> {
  for (let entry = entries.shift(); entry !== undefined; entry = entries.shift()) {
    const member = memberOf(entry);
    if (member !== null) members.set(member.address, member.features);
    const device = describe(entry, base);
    if (device !== null) yield device;
  }
}

const refused = (entry: unknown, reason: Refusal): NotSupported => ({
  name: isRecord(entry) ? (textIn(entry, 'friendly_name') ?? textIn(entry, 'ieee_address') ?? '') : '',
  reason,
  detail: null,
});

function groupsIn(base: string, text: string, memory: Memory): AnnouncedList | null {
  const payload = text.length <= longestGroups ? parsed(text) : null;
  if (!Array.isArray(payload)) return null;
  memory.groups = payload;
  // They are made when the devices come.
  return memory.members.size === 0 ? null : listGroups(payload, memory.members, base);
}

function removedOf(base: string, id: string | null, known: Known<Memory>, idOf: (id: string) => string | null): Said[] {
  if (id === null) return [];
  const own = idOf(id);
  const [named] = known.at(`${base}/${id}`);
  const device: DialectDevice | undefined = named ?? (own === null ? undefined : known.find(own));
  return device === undefined ? [] : [{ kind: 'removed', device }];
}

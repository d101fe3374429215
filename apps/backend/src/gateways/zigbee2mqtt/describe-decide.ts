import { isForeignName } from '@station/protocol/gateways';
import type { AnnouncedDevice } from '../dialect.ts';
import type { Feature } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';
import { slugOf, wordsOf } from '../words-decide.ts';
import { readExposes } from './exposes-decide.ts';
import { groupFeatures } from './groups-decide.ts';
import { deviceScenes } from './scenes-decide.ts';

/**
 * From one entry of the retained `<base>/bridge/devices` (zigbee2mqtt.io, "MQTT Topics and Messages") to a device of the station: what it says
 * about itself in its handshake, and how its payloads are read and written.
 */

const isAddress = /^0x[0-9a-f]{16}$/;
const idOf = (address: string): string => `zigbee2mqtt:${address}`;

/** What its members can be told, when it is in a group. */
export function memberOf(entry: unknown): { address: string; features: Feature[] } | null {
  if (!isRecord(entry) || isMisnamed(entry)) return null;
  const definition = isRecord(entry['definition']) ? entry['definition'] : {};
  const features = groupFeatures(readExposes(definition['exposes']));
  return features.length === 0 ? null : { address: textIn(entry, 'ieee_address')?.toLowerCase() ?? '', features };
}

/** Null: it is no device that takes part, or its interview is not over. */
export function describe(entry: unknown, base = 'zigbee2mqtt'): AnnouncedDevice | null {
  if (!isRecord(entry)) return null;
  const address = textIn(entry, 'ieee_address')?.toLowerCase() ?? '';
  const name = textIn(entry, 'friendly_name') ?? '';
  if (isMisnamed(entry)) return null;
  if (entry['type'] === 'Coordinator' || entry['disabled'] === true || !isInterviewed(entry)) return null;
  const definition = isRecord(entry['definition']) ? entry['definition'] : {};
  const features = [...readExposes(definition['exposes']), ...deviceScenes(entry)];
  const { words, plan } = wordsOf(features);
  const model = textIn(definition, 'model') ?? textIn(entry, 'model_id') ?? 'device';
  const label = plainText([textIn(definition, 'vendor') ?? '', model].join(' '));
  return {
    externalId: idOf(address),
    name,
    topics: { heard: [`${base}/${name}`], command: `${base}/${name}/set` },
    words: {
      type: `zigbee2mqtt.${slugOf(model)}`,
      firmwareVersion: plainText(textIn(entry, 'software_build_id') ?? '', 128) ?? 'unknown',
      chip: 'zigbee',
      ...(label === null ? {} : { names: { en: label } }),
      ...words,
    },
    plan,
  };
}

/** A device whose topic could not be told from others, or that has no address. */
export function isMisnamed(entry: unknown): boolean {
  if (!isRecord(entry) || entry['type'] === 'Coordinator' || entry['disabled'] === true) return false;
  const address = textIn(entry, 'ieee_address')?.toLowerCase() ?? '';
  return !isAddress.test(address) || !isForeignName(textIn(entry, 'friendly_name') ?? '');
}

/** The external id of a device that is being interviewed, also again after an update of its firmware; null: it is not. */
export const interviewed = (entry: unknown): string | null =>
  isRecord(entry) && entry['disabled'] !== true && !isInterviewed(entry)
    ? idOf(textIn(entry, 'ieee_address')?.toLowerCase() ?? '')
    : null;

/** Older releases say only `interview_completed`. A device whose interview failed is one without exposes. */
function isInterviewed(entry: Values): boolean {
  const state = textIn(entry, 'interview_state');
  if (state !== null) return state === 'SUCCESSFUL' || state === 'FAILED';
  return entry['interview_completed'] !== false && entry['interviewing'] !== true;
}

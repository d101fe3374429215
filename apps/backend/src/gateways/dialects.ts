import type { DialectName } from '@station/protocol/gateway-systems';
import { isBaseTopic } from '@station/protocol/gateways';
import { ownValue } from '@station/protocol/own-value';
import type { Dialect } from './dialect.ts';
import { homeAssistant } from './home-assistant/discovery-decide.ts';
import { shelly } from './shelly/shelly-decide.ts';
import { shellyGen1 } from './shelly-gen1/gen1-decide.ts';
import { tasmota } from './tasmota/tasmota-decide.ts';
import { zigbee2mqtt } from './zigbee2mqtt/bridge-decide.ts';

/** Where a new one is added, after its name in the protocol. */
const dialects: Readonly<Record<DialectName, Dialect>> = {
  zigbee2mqtt,
  tasmota,
  shelly,
  shelly_gen1: shellyGen1,
  home_assistant: homeAssistant,
};

/** Undefined: a newer release wrote its name. */
export const dialectOf = (name: string): Dialect | undefined => ownValue(dialects, name);

/** Of which system is who has its last will on this topic? Null: of none, or its gateway would have a base topic that none can have. */
export function systemOfWill(topic: string): { name: DialectName; dialect: Dialect; baseTopic: string } | null {
  for (const name of Object.keys(dialects) as DialectName[]) {
    const dialect = dialects[name];
    const baseTopic = dialect.lastWill.baseTopic(topic);
    if (baseTopic !== null) return isBaseTopic(baseTopic) ? { name, dialect, baseTopic } : null;
  }
  return null;
}

/** MQTT topic filters of where last wills of all systems usually are. */
export const usualWills: readonly string[] = Object.values(dialects).flatMap(({ lastWill }) => lastWill.usual);

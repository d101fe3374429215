import type { DialectName } from '@station/protocol/gateway-systems';
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

/** Systems whose devices come through a gateway, by the name of their dialect; a device's external id begins with it. */
export const systemNames = {
  zigbee2mqtt: 'Zigbee2MQTT',
  tasmota: 'Tasmota',
  shelly: 'Shelly (Gen2 and later)',
  shelly_gen1: 'Shelly Gen1',
  home_assistant: 'ESPHome (Home Assistant discovery)',
} as const;

export type DialectName = keyof typeof systemNames;

/** Where devices announce themselves, of systems that have a tree of its own for it, unless a person chooses another one. */
export const discoveryPrefixes: Readonly<Partial<Record<DialectName, string>>> = { home_assistant: 'homeassistant' };

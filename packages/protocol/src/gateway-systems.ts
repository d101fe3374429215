/** Systems whose devices come through a gateway, by the name of their dialect; a device's external id begins with it. */
export const systemNames = { zigbee2mqtt: 'Zigbee2MQTT', tasmota: 'Tasmota', shelly: 'Shelly' } as const;

export type DialectName = keyof typeof systemNames;

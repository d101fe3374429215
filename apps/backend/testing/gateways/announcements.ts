/** Devices as Zigbee2MQTT announces them in `bridge/devices`: facts of its documentation, not its text. */

export const announcement = (more: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  ieee_address: '0x00158D0001DC126A',
  type: 'Router',
  network_address: 22_370,
  supported: true,
  disabled: false,
  friendly_name: 'living room/lamp',
  interview_completed: true,
  interviewing: false,
  software_build_id: '1.50.2_r30933',
  ...more,
});

const value = (type: string, name: string, access: number, more: object = {}) => ({
  type,
  name,
  property: name,
  label: name[0]!.toUpperCase() + name.slice(1),
  access,
  ...more,
});

const onOff = { value_on: 'ON', value_off: 'OFF', value_toggle: 'TOGGLE' };
const linkquality = value('numeric', 'linkquality', 1, {
  unit: 'lqi',
  value_min: 0,
  value_max: 255,
  category: 'diagnostic',
});

export const colourLamp = {
  vendor: 'Philips',
  model: '9290012573A',
  description: 'Hue white and colour ambiance',
  exposes: [
    {
      type: 'light',
      features: [
        value('binary', 'state', 7, onOff),
        value('numeric', 'brightness', 7, { value_min: 0, value_max: 254 }),
        value('numeric', 'color_temp', 7, { unit: 'mired', value_min: 153, value_max: 500 }),
        {
          type: 'composite',
          name: 'color_xy',
          property: 'color',
          access: 7,
          features: [value('numeric', 'x', 7), value('numeric', 'y', 7)],
        },
        {
          type: 'composite',
          name: 'color_hs',
          property: 'color',
          access: 7,
          features: [value('numeric', 'hue', 7), value('numeric', 'saturation', 7)],
        },
      ],
    },
    value('enum', 'effect', 2, { values: ['blink', 'breathe', 'okay', 'stop_effect'] }),
    linkquality,
  ],
};

const endpoint = (end: string) => ({
  type: 'switch',
  endpoint: end,
  features: [value('binary', 'state', 7, { ...onOff, property: `state_${end}`, endpoint: end })],
});

export const twoSwitches = {
  vendor: 'Tuya',
  model: 'TS0002',
  exposes: [endpoint('l1'), endpoint('l2'), value('numeric', 'power', 1, { unit: 'W' })],
};

export const doorLock = {
  vendor: 'Yale',
  model: 'YRD426NRSC',
  exposes: [
    {
      type: 'lock',
      features: [
        value('binary', 'state', 7, { value_on: 'LOCK', value_off: 'UNLOCK' }),
        value('enum', 'lock_state', 1, { values: ['not_fully_locked', 'locked', 'unlocked'] }),
      ],
    },
  ],
};

export const cover = {
  vendor: 'IKEA',
  model: 'E1757',
  exposes: [
    {
      type: 'cover',
      features: [
        value('enum', 'state', 3, { values: ['OPEN', 'CLOSE', 'STOP'] }),
        value('numeric', 'position', 7, { unit: '%', value_min: 0, value_max: 100 }),
        value('numeric', 'tilt', 7, { unit: '%', value_min: 0, value_max: 100 }),
      ],
    },
  ],
};

export const thermostat = {
  vendor: 'Eurotronic',
  model: 'SPZB0001',
  exposes: [
    {
      type: 'climate',
      features: [
        value('numeric', 'occupied_heating_setpoint', 7, { unit: '°C', value_min: 5, value_max: 35, value_step: 0.5 }),
        value('numeric', 'local_temperature', 5, { unit: '°C' }),
        value('enum', 'system_mode', 7, { values: ['off', 'auto', 'heat'] }),
      ],
    },
    value('binary', 'child_lock', 7, { value_on: true, value_off: false, category: 'config' }),
    value('binary', 'valve', 3, { value_on: 1, value_off: 0 }),
    value('enum', 'level', 7, { values: [0, 1, 2] }),
    {
      type: 'composite',
      name: 'schedule',
      property: 'schedule',
      access: 3,
      features: [
        value('enum', 'day', 3, { values: ['monday', 'sunday'] }),
        value('list', 'transitions', 3, { item_type: { type: 'composite', features: [] } }),
      ],
    },
  ],
};

export const wallButton = {
  vendor: 'Aqara',
  model: 'WXKG11LM',
  exposes: [
    value('numeric', 'battery', 1, { unit: '%', value_min: 0, value_max: 100, category: 'diagnostic' }),
    value('enum', 'action', 1, { values: ['single', 'double'] }),
    linkquality,
  ],
};

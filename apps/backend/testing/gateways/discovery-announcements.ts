/** What devices announce as Home Assistant takes it: facts of their documentation and their source, not their text. */

type Message = Readonly<Record<string, unknown>>;

/** The name of an ESPHome, and its MAC. */
export type EspHome = { name: string; friendlyName: string; mac: string; topicPrefix: string };

export const kitchen: EspHome = {
  name: 'kitchen',
  friendlyName: 'Kitchen',
  mac: 'a4cf1249a3bc',
  topicPrefix: 'esphome/kitchen',
};

/** What each of its messages ends with. */
const common = ({ name, friendlyName, mac, topicPrefix }: EspHome, component: string, object: string): Message => ({
  stat_t: `${topicPrefix}/${component}/${object}/state`,
  avty_t: `${topicPrefix}/status`,
  uniq_id: `ESP${component}${object}`,
  dev: {
    ids: mac,
    name: friendlyName,
    sw: '2026.11.0 (config hash 0x1234abcd)',
    mdl: 'esp32dev',
    mf: 'Espressif',
    cns: [['mac', mac]],
  },
  obj_id: `${name}_${object}`,
});

const command = ({ topicPrefix }: EspHome, component: string, object: string) => ({
  cmd_t: `${topicPrefix}/${component}/${object}/command`,
});

/** Its messages below the discovery prefix: a lamp, a relay, a blind, sensors, settings, a button and one that is pressed. */
export function espHomeMessages(node: EspHome = kitchen): Readonly<Record<string, Message>> {
  const at = (component: string, object: string): string => `${component}/${node.name}/${object}/config`;
  const place = (component: string, object: string): string => `${node.topicPrefix}/${component}/${object}`;
  const { stat_t: _none, ...blind } = common(node, 'cover', 'blind');
  const { stat_t: _neither, ...restart } = common(node, 'button', 'restart');
  return {
    [at('light', 'ceiling')]: {
      schema: 'json',
      clrm: true,
      supported_color_modes: ['color_temp', 'rgb'],
      brightness: true,
      min_mirs: 153,
      max_mirs: 500,
      effect: true,
      fx_list: ['Rainbow', 'None'],
      name: 'Ceiling',
      ...common(node, 'light', 'ceiling'),
      ...command(node, 'light', 'ceiling'),
    },
    [at('sensor', 'temperature')]: {
      dev_cla: 'temperature',
      unit_of_meas: '°C',
      stat_cla: 'measurement',
      sug_dsp_prc: 1,
      name: 'Temperature',
      ...common(node, 'sensor', 'temperature'),
    },
    [at('sensor', 'ip_address')]: {
      name: 'IP address',
      ent_cat: 'diagnostic',
      ...common(node, 'sensor', 'ip_address'),
    },
    [at('binary_sensor', 'motion')]: {
      dev_cla: 'motion',
      name: 'Motion',
      ...common(node, 'binary_sensor', 'motion'),
    },
    [at('cover', 'blind')]: {
      dev_cla: 'blind',
      pos_t: `${place('cover', 'blind')}/position/state`,
      set_pos_t: `${place('cover', 'blind')}/position/command`,
      name: 'Blind',
      ...blind,
      ...command(node, 'cover', 'blind'),
    },
    [at('fan', 'extractor')]: {
      osc_cmd_t: `${place('fan', 'extractor')}/oscillation/command`,
      osc_stat_t: `${place('fan', 'extractor')}/oscillation/state`,
      pct_cmd_t: `${place('fan', 'extractor')}/speed_level/command`,
      pct_stat_t: `${place('fan', 'extractor')}/speed_level/state`,
      spd_rng_max: 3,
      name: 'Extractor',
      ...common(node, 'fan', 'extractor'),
      ...command(node, 'fan', 'extractor'),
    },
    [at('lock', 'door')]: { name: 'Door', ...common(node, 'lock', 'door'), ...command(node, 'lock', 'door') },
    [at('number', 'delay')]: {
      min: 0,
      max: 60,
      step: 0.5,
      unit_of_meas: 's',
      ent_cat: 'config',
      name: 'Delay',
      ...common(node, 'number', 'delay'),
      ...command(node, 'number', 'delay'),
    },
    [at('select', 'mode')]: {
      ops: ['Eco', 'Comfort'],
      name: 'Mode',
      ...common(node, 'select', 'mode'),
      ...command(node, 'select', 'mode'),
    },
    [at('button', 'restart')]: {
      dev_cla: 'restart',
      name: 'Restart',
      ent_cat: 'config',
      ...restart,
      ...command(node, 'button', 'restart'),
    },
    [at('event', 'doorbell')]: {
      event_types: ['press', 'double_press'],
      dev_cla: 'doorbell',
      name: 'Doorbell',
      ...common(node, 'event', 'doorbell'),
    },
    [at('switch', 'led')]: {
      name: 'LED',
      ent_cat: 'config',
      ...common(node, 'switch', 'led'),
      ...command(node, 'switch', 'led'),
    },
  };
}

const zigbeeDevice = {
  identifiers: ['zigbee2mqtt_0x00158d0001dc126a'],
  manufacturer: 'Xiaomi',
  model: 'Wireless switch (WXKG01LM)',
  name: 'button',
  sw_version: '3000-0001',
};
const zigbeeAvailability = [
  { topic: 'zigbee2mqtt/bridge/state', value_template: '{{ value_json.state }}' },
  { topic: 'zigbee2mqtt/button/availability', value_template: '{{ value_json.state }}' },
];

/** Zigbee2MQTT, with its `homeassistant` switched on. */
export const zigbeeMessages: Readonly<Record<string, Message>> = {
  'sensor/0x00158d0001dc126a/battery/config': {
    availability: zigbeeAvailability,
    availability_mode: 'all',
    device: zigbeeDevice,
    device_class: 'battery',
    entity_category: 'diagnostic',
    object_id: 'button_battery',
    state_class: 'measurement',
    state_topic: 'zigbee2mqtt/button',
    unique_id: '0x00158d0001dc126a_battery_zigbee2mqtt',
    unit_of_measurement: '%',
    value_template: '{{ value_json.battery }}',
  },
  'binary_sensor/0x00158d0001dc126a/contact/config': {
    availability: zigbeeAvailability,
    device: zigbeeDevice,
    device_class: 'door',
    payload_off: true,
    payload_on: false,
    state_topic: 'zigbee2mqtt/button',
    unique_id: '0x00158d0001dc126a_contact_zigbee2mqtt',
    value_template: '{{ value_json.contact }}',
  },
  'device_automation/0x00158d0001dc126a/action_single/config': {
    automation_type: 'trigger',
    type: 'action',
    subtype: 'single',
    payload: 'single',
    topic: 'zigbee2mqtt/button/action',
    device: zigbeeDevice,
  },
  'device_automation/0x00158d0001dc126a/action_double/config': {
    automation_type: 'trigger',
    type: 'action',
    subtype: 'double',
    payload: 'double',
    topic: 'zigbee2mqtt/button/action',
    device: zigbeeDevice,
  },
  'sensor/0x00158d0001dc126a/last_seen/config': {
    device: zigbeeDevice,
    state_topic: 'zigbee2mqtt/button',
    unique_id: '0x00158d0001dc126a_last_seen_zigbee2mqtt',
    value_template: "{{ value_json.last_seen | default('') }}",
  },
};

/** One message of a whole device, as the documentation of Home Assistant has it, with a base topic. */
export const wholeDevice: Message = {
  '~': 'esphome/plug',
  dev: { ids: ['plug-1', 'other'], name: 'Plug', mdl: 'P1', sw: '1.0' },
  o: { name: 'tests', sw: '1' },
  avty: [{ t: '~/online', pl_avail: 'yes', pl_not_avail: 'no' }],
  stat_t: '~/state',
  cmps: {
    relay: {
      p: 'switch',
      uniq_id: 'p1',
      cmd_t: '~/set',
      val_tpl: "{{ value_json['relay'] }}",
      pl_on: 'on',
      pl_off: 'off',
    },
    power: { p: 'sensor', uniq_id: 'p2', unit_of_meas: 'W', val_tpl: '{{ value_json.energy.power }}' },
    gone: { p: 'sensor' },
  },
};

/** A thermostat of an ESPHome. */
export const thermostat = {
  name: 'Heating',
  dev: { ids: 'a4cf1249a3bd', name: 'Hall' },
  curr_temp_t: 'esphome/hall/climate/heating/current_temperature/state',
  temp_cmd_t: 'esphome/hall/climate/heating/target_temperature/command',
  temp_stat_t: 'esphome/hall/climate/heating/target_temperature/state',
  mode_cmd_t: 'esphome/hall/climate/heating/mode/command',
  mode_stat_t: 'esphome/hall/climate/heating/mode/state',
  modes: ['off', 'heat', 'cool'],
  act_t: 'esphome/hall/climate/heating/action/state',
  pr_mode_cmd_t: 'esphome/hall/climate/heating/preset/command',
  pr_mode_stat_t: 'esphome/hall/climate/heating/preset/state',
  pr_modes: ['eco', 'comfort'],
  min_temp: 5,
  max_temp: 30,
  temp_step: 0.5,
  temp_unit: 'C',
};

/** What devices of the first generation of Shelly publish below their topic: facts of their documentation, not its text. */

export const gen1Announcement = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  id: 'shelly1pm-A1B2C3',
  model: 'SHSW-PM',
  mac: 'E868E7A1B2C3',
  ip: '192.168.1.30',
  new_fw: false,
  fw_ver: '20230913-113421/v1.14.0-gcb84623',
  ...more,
});

type Messages = Readonly<Record<string, unknown>>;

/** A relay that measures, and its input. */
export const relayMessages: Messages = {
  'relay/0': 'off',
  'relay/0/power': '12.50',
  'relay/0/energy': '1200',
  'input/0': '0',
  'input_event/0': { event: 'S', event_cnt: 7 },
  'longpush/0': '0',
  temperature: '41.3',
  temperature_f: '106.3',
  overtemperature: '0',
  info: { wifi_sta: { connected: true, ssid: 'home', rssi: -58 }, has_update: false, uptime: 300 },
};

export const rollerMessages: Messages = {
  'roller/0': 'stop',
  'roller/0/pos': '40',
  'roller/0/power': '0.00',
  'roller/0/energy': '0',
  'input/0': '0',
  'input/1': '1',
  voltage: '231.2',
};

export const dimmerMessages: Messages = {
  'light/0': 'on',
  'light/0/status': { ison: true, mode: 'white', brightness: 50, transition: 0 },
  'light/0/power': '5.1',
};

export const colourMessages: Messages = {
  'color/0': 'off',
  'color/0/status': {
    ison: false,
    mode: 'color',
    red: 255,
    green: 0,
    blue: 10,
    white: 0,
    gain: 80,
    effect: 0,
    power: 0,
    overpower: false,
  },
};

/** Sensors that sleep: climate, a door, water. */
export const climateMessages: Messages = {
  'sensor/temperature': '21.38',
  'sensor/humidity': '48.5',
  'sensor/battery': '92',
  'sensor/error': '0',
  'sensor/act_reasons': ['sensor'],
  'sensor/ext_power': 'false',
};
export const doorMessages: Messages = {
  'sensor/state': 'close',
  'sensor/lux': '120',
  'sensor/illumination': 'twilight',
  'sensor/tilt': '0',
  'sensor/vibration': '0',
  'sensor/temperature': '20.1',
  'sensor/battery': '77',
};
export const floodMessages: Messages = {
  'sensor/flood': 'false',
  'sensor/temperature': '19.00',
  'sensor/battery': '80',
};

/** A motion sensor stays connected, and says all at once. */
export const motionMessages: Messages = {
  status: { motion: true, timestamp: 1_700_000_000, active: true, vibration: false, lux: 300, bat: 88 },
};

/** A radiator valve. */
export const valveMessages: Messages = {
  info: {
    wifi_sta: { connected: true, ssid: 'home', ip: '192.168.1.40', rssi: -61 },
    mac: 'E868E7A1B2C3',
    calibrated: true,
    charger: false,
    thermostats: [
      {
        pos: 33.6,
        target_t: { enabled: true, value: 21.5, value_op: 8, units: 'C' },
        tmp: { value: 19.8, units: 'C', is_valid: true },
        schedule: false,
        schedule_profile: 1,
        boost_minutes: 0,
      },
    ],
    bat: { value: 76, voltage: 3.83 },
  },
  status: { target_t: { enabled: true, value: 21.5, units: 'C' }, tmp: { value: 19.8, units: 'C', is_valid: true } },
  settings: { device: { type: 'SHTRV-01', mac: 'E868E7A1B2C3' } },
};

export const meterMessages: Messages = {
  'emeter/0/power': '100.5',
  'emeter/0/pf': '0.98',
  'emeter/0/voltage': '231.0',
  'emeter/0/total': '1000.1',
  'emeter/0/energy': '30',
  'emeter/1/power': '-20',
  'emeter/1/total_returned': '12.0',
  'relay/0': 'off',
};

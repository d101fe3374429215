/** What a Shelly answers and notifies: facts of its documentation, not its text. */

export const shellyInfo = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  name: null,
  id: 'shellyplus1pm-a8032abe54dc',
  mac: 'A8032ABE54DC',
  slot: 1,
  model: 'SNSW-001P16EU',
  gen: 2,
  fw_id: '20241011-114455/1.4.4-g6d2a586',
  ver: '1.4.4',
  app: 'Plus1PM',
  auth_en: false,
  auth_domain: null,
  ...more,
});

const sys = { mac: 'A8032ABE54DC', restart_required: false, uptime: 30, ram_free: 160_000, available_updates: {} };

/** A relay that measures, and its input. */
export const shellyStatus = {
  ble: {},
  cloud: { connected: false },
  'input:0': { id: 0, state: false },
  mqtt: { connected: true },
  'switch:0': {
    id: 0,
    source: 'init',
    output: false,
    apower: 0,
    voltage: 231.4,
    freq: 50,
    current: 0,
    aenergy: { total: 12.3, by_minute: [0, 0, 0], minute_ts: 1_700_000_000 },
    temperature: { tC: 41.2, tF: 106.2 },
  },
  sys,
  wifi: { sta_ip: '192.168.1.20', status: 'got ip', ssid: 'home', rssi: -58 },
};

export const shellyConfig = (name: string | null = 'Boiler'): Record<string, unknown> => ({
  'input:0': { id: 0, name: null, type: 'switch', invert: false },
  mqtt: { enable: true, topic_prefix: 'shelly/boiler', rpc_ntf: true, status_ntf: false },
  'switch:0': { id: 0, name: null, in_mode: 'follow', initial_state: 'off' },
  sys: { device: { name, mac: 'A8032ABE54DC', fw_id: '20241011-114455/1.4.4-g6d2a586' } },
});

/** A sensor that sleeps. */
export const sleepingStatus = {
  'devicepower:0': { id: 0, battery: { V: 5.4, percent: 82 }, external: { present: false } },
  ht_ui: {},
  'humidity:0': { id: 0, rh: 42.2 },
  sys: { ...sys, wakeup_reason: { boot: 'deepsleep_wake', cause: 'status_update' }, wakeup_period: 7_200 },
  'temperature:0': { id: 0, tC: 19.8, tF: 67.6 },
};

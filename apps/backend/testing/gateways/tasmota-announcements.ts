/** What Tasmota announces and reports: facts of its documentation and its source, not their text. */

const options = { 4: 0, 11: 0, 13: 0, 17: 0, 20: 0, 30: 0, 68: 0, 73: 0, 82: 0, 114: 0, 117: 0 };

export type TasmotaConfig = Readonly<Record<string, unknown>> & { mac: string; t: string };

/** `tasmota/discovery/<MAC>/config` of a switch with one relay. */
export function tasmotaConfig(more: Readonly<Record<string, unknown>> = {}): TasmotaConfig {
  const { so = {}, ...rest } = more;
  return {
    ip: '192.168.15.10',
    dn: 'Kitchen lamp',
    fn: ['Kitchen lamp', null, null, null, null, null, null, null],
    hn: 'tasmota-49A3BC-0956',
    mac: 'A4CF1249A3BC',
    md: 'Sonoff Basic',
    ty: 0,
    if: 0,
    ofln: 'Offline',
    onln: 'Online',
    state: ['OFF', 'ON', 'TOGGLE', 'HOLD'],
    sw: '14.4.1',
    t: 'tasmota_49A3BC',
    ft: '%prefix%/%topic%/',
    tp: ['cmnd', 'stat', 'tele'],
    rl: [1, 0, 0, 0, 0, 0, 0, 0],
    swc: [-1, -1, -1, -1, -1, -1, -1, -1],
    swn: [null, null, null, null, null, null, null, null],
    btn: [0, 0, 0, 0, 0, 0, 0, 0],
    so: { ...options, ...(so as object) },
    lk: 0,
    lt_st: 0,
    bat: 0,
    dslp: 0,
    sho: [0, 0, 0, 0],
    ver: 1,
    ...rest,
  };
}

/** `…/sensors` of a plug that measures, with a sensor beside it. */
export const tasmotaSensors = {
  sn: {
    Time: '2026-11-20T10:00:00',
    ENERGY: {
      TotalStartTime: '2026-01-01T00:00:00',
      Total: 4.217,
      Yesterday: 0.4,
      Today: 0.312,
      Power: 41,
      ApparentPower: 55,
      ReactivePower: 36,
      Factor: 0.75,
      Voltage: 231,
      Current: 0.238,
    },
    AM2301: { Temperature: 21.5, Humidity: 48.2, DewPoint: 10.1 },
    'DS18B20-1': { Id: '01144A0CB2AA', Temperature: 19.1 },
    ODD: { Quality: 7 },
    ESP32: { Temperature: 53.3 },
    TempUnit: 'C',
  },
  ver: 1,
};

/** `tele/…/STATE` of one relay. */
export const tasmotaState = {
  Time: '2026-11-20T10:00:00',
  Uptime: '0T00:05:12',
  UptimeSec: 312,
  Heap: 26,
  SleepMode: 'Dynamic',
  Sleep: 50,
  LoadAvg: 19,
  MqttCount: 1,
  POWER: 'ON',
  Wifi: { AP: 1, SSId: 'home', BSSId: '00:00:00:00:00:00', Channel: 6, Mode: '11n', RSSI: 78, Signal: -61 },
};

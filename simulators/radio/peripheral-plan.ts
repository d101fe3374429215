/** What makes a device fail, chosen for each device. */
export type Faults = {
  /** The first so many writes fail because every connection breaks. */
  brokenWrites: number;
  /** Share of connections that break before the write is complete, 0 to 1. */
  disconnectShare: number;
  /** It advertises, but cannot be connected to. */
  refusesConnections: boolean;
  /** It is not heard. */
  isOutOfRange: boolean;
  /** Time that a write takes. */
  writeMs: number;
  /** It takes the credentials, but no Wi-Fi network reaches it. */
  isWithoutWifi: boolean;
  /** Improv: it takes nothing before somebody presses its button. */
  needsButton: boolean;
};

export const noFaults: Faults = {
  brokenWrites: 0,
  disconnectShare: 0,
  refusesConnections: false,
  isOutOfRange: false,
  writeMs: 300,
  isWithoutWifi: false,
  needsButton: false,
};

/**
 * `station` and `improv` advertise by BLE. `page`: it has no Bluetooth and is already in the Wi-Fi; its login is entered in its own page,
 * as in that of an Improv device.
 */
export type PeripheralPlan = {
  protocol: 'station' | 'improv' | 'page';
  /** Upper case, as BlueZ writes it. */
  address: string;
  /** Name that it advertises; may be empty. */
  name: string;
  /** Text of the service data of its service, in UTF-8; null: none. */
  serviceData: string | null;
  /** Device type of its firmware. */
  type: string;
  /** For the person in front of the control page: what it is, and which fault it has. */
  label: string;
  /** Mean, dBm. */
  rssi: number;
  advertiseEveryMs: number;
  faults: Partial<Faults>;
};

/** A Wi-Fi network that devices can join. */
export type Network = { ssid: string; password: string };

const everyMs = 1_000;

/** The new devices of `npm start`: six wait on Bluetooth, two in the Wi-Fi. */
export const waitingDevices: readonly PeripheralPlan[] = [
  {
    protocol: 'station',
    address: 'C0:DE:00:00:00:01',
    name: 'SH_light_a1b2c3',
    serviceData: null,
    type: 'light',
    label: 'Lamp',
    rssi: -48,
    advertiseEveryMs: everyMs,
    faults: {},
  },
  {
    protocol: 'station',
    address: 'C0:DE:00:00:00:02',
    name: 'climate-7f21',
    serviceData: null,
    type: 'climate',
    label: 'Climate sensor, slow: its write takes five seconds',
    rssi: -67,
    advertiseEveryMs: everyMs,
    faults: { writeMs: 5_000 },
  },
  {
    protocol: 'station',
    address: 'C0:DE:00:00:00:03',
    name: 'SH_switch-pir_0d44e1',
    serviceData: null,
    type: 'switch-pir',
    label: 'Switch that loses the connection: its first write fails, the second succeeds',
    rssi: -81,
    advertiseEveryMs: everyMs,
    faults: { brokenWrites: 1 },
  },
  {
    protocol: 'station',
    address: 'C0:DE:00:00:00:04',
    name: '',
    serviceData: 'SH_pir_5521aa',
    type: 'pir',
    label: 'Motion sensor that advertises no name, only service data',
    rssi: -59,
    advertiseEveryMs: everyMs,
    faults: {},
  },
  {
    protocol: 'station',
    address: 'C0:DE:00:00:00:05',
    name: 'SH_light_dead01',
    serviceData: null,
    type: 'light',
    label: 'Lamp that never comes online: no Wi-Fi reaches it',
    rssi: -88,
    advertiseEveryMs: everyMs,
    faults: { isWithoutWifi: true },
  },
  {
    protocol: 'improv',
    address: 'C0:DE:00:00:00:06',
    name: 'Greenhouse',
    serviceData: null,
    type: 'climate',
    label: 'Improv device: joins the Wi-Fi, then wants its login in its own page',
    rssi: -62,
    advertiseEveryMs: everyMs,
    faults: {},
  },
  {
    protocol: 'page',
    address: 'C0:DE:00:00:00:07',
    name: 'SH_light_4e0b17',
    serviceData: null,
    type: 'light',
    label: 'Lamp without Bluetooth: add it manually, with its own page',
    rssi: -50,
    advertiseEveryMs: everyMs,
    faults: {},
  },
  {
    protocol: 'page',
    address: 'C0:DE:00:00:00:08',
    name: 'climate-91c7',
    serviceData: null,
    type: 'climate',
    label: 'Climate sensor without Bluetooth: scan its label',
    rssi: -50,
    advertiseEveryMs: everyMs,
    faults: {},
  },
];

/** Devices for load: together they advertise `perSecond` times a second. */
export const crowd = (count: number, perSecond: number): PeripheralPlan[] =>
  Array.from({ length: count }, (_, index) => {
    const id = index.toString(16).padStart(4, '0');
    return {
      protocol: 'station',
      name: `SH_climate_${id}`,
      serviceData: null,
      type: 'climate',
      faults: {},
      address: `C0:DE:C0:DE:${id.slice(0, 2)}:${id.slice(2)}`.toUpperCase(),
      label: `Climate sensor ${index + 1}`,
      rssi: -60,
      advertiseEveryMs: (count * 1_000) / perSecond,
    };
  });

import { Variant } from '@jellybrick/dbus-next';
import { deviceState, interfaces, managerPath } from '@station/agent/wifi/adapters/network-manager/objects';

export type Values = Record<string, Variant>;

export const wifiPath = `${managerPath}/Devices/3`;
export const ethernetPath = `${managerPath}/Devices/2`;

/** Wi-Fi that is on and idle, a wired connection without a cable. */
export const bareMachine = (): Record<string, Record<string, Values>> => ({
  [managerPath]: {
    [interfaces.manager]: {
      WirelessEnabled: new Variant('b', true),
      WirelessHardwareEnabled: new Variant('b', true),
    },
  },
  [wifiPath]: {
    [interfaces.device]: {
      Interface: new Variant('s', 'wlan0'),
      DeviceType: new Variant('u', 2),
      Managed: new Variant('b', true),
      State: new Variant('u', deviceState.disconnected),
      ActiveConnection: new Variant('o', '/'),
      Ip4Config: new Variant('o', '/'),
    },
    [interfaces.wireless]: {
      HwAddress: new Variant('s', '02:AA:00:00:00:00'),
      Mode: new Variant('u', 2),
      WirelessCapabilities: new Variant('u', 0x2ff),
      AccessPoints: new Variant('ao', []),
      ActiveAccessPoint: new Variant('o', '/'),
      LastScan: new Variant('x', 1_000_000n),
    },
  },
  [ethernetPath]: {
    [interfaces.device]: {
      Interface: new Variant('s', 'eth0'),
      DeviceType: new Variant('u', 1),
      Managed: new Variant('b', true),
      State: new Variant('u', deviceState.unavailable),
      ActiveConnection: new Variant('o', '/'),
      Ip4Config: new Variant('o', '/'),
    },
    [interfaces.wired]: { Carrier: new Variant('b', false) },
  },
});

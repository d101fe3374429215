import { type Static, Type } from 'typebox';
import { AgentSettings } from '@station/protocol/rest';
import { type SettingsStore, wifiSetting } from './settings-store.ts';

/** The network that the agent joined last, and the offer to bring the devices along when it is another one than before. */
export type WifiOffers = {
  /** Null: the agent has forwarded none. */
  stationWifi(): Promise<Wifi | null>;
  /**
   * The agent has joined this network. New devices get it too while there are no devices and no person has chosen another;
   * otherwise it is offered. @returns whether the offer changed.
   */
  noteStationWifi(wifi: Wifi): Promise<boolean>;
  /** A person has accepted the offer: new devices get the network of the station too. */
  useForDevices(wifi: Wifi): Promise<void>;
  current(): Promise<{ ssid: string } | null>;
  withdraw(): Promise<void>;
};

const Wifi = AgentSettings.properties.wifi;
type Wifi = Static<typeof Wifi>;

/** `from`: the network that the devices are in. */
const Offer = Type.Object({ ssid: Type.String(), from: Wifi });

const stationSetting = 'station-wifi';
const offerSetting = 'wifi-offer';

export function createWifiOffers({
  settings,
  hasDevices,
}: {
  settings: SettingsStore;
  hasDevices: () => Promise<boolean>;
}): WifiOffers {
  // A station of the first release knows only the network of new devices, which is the agent's as a rule.
  const stationWifi = async () =>
    (await settings.readSecret(stationSetting, Wifi)) ?? settings.readSecret(wifiSetting, Wifi);
  const withdraw = () => settings.remove(offerSetting);
  const updateOffer = async (previous: Wifi, next: Wifi): Promise<void> => {
    const from = (await settings.readSecret(offerSetting, Offer))?.from ?? previous;
    if (isSame(from, next)) await withdraw();
    else await settings.writeSecret(offerSetting, { ssid: next.ssid, from });
  };
  /** Whether a person has chosen the network of new devices. */
  const isChosen = async (forDevices: Wifi): Promise<boolean> => {
    const ofStation = await settings.readSecret(stationSetting, Wifi);
    return ofStation === null || !isSame(forDevices, ofStation);
  };
  return {
    stationWifi,
    useForDevices: (wifi) => settings.writeSecret(wifiSetting, wifi),
    noteStationWifi: async (next) => {
      const previous = await stationWifi();
      const isChanged = previous !== null && !isSame(previous, next);
      const forDevices = await settings.readSecret(wifiSetting, Wifi);
      // Whoever had the setup page for a moment does not choose the network of devices: a person is asked.
      const isAsked = (await hasDevices()) || (forDevices !== null && (await isChosen(forDevices)));
      // Before the network itself: after a crash in between, the agent forwards it again, and it still differs.
      if (isChanged && isAsked) await updateOffer(previous, next);
      if (forDevices === null || !isAsked) await settings.writeSecret(wifiSetting, next);
      await settings.writeSecret(stationSetting, next);
      return isChanged;
    },
    current: async () => {
      const offer = await settings.readSecret(offerSetting, Offer);
      return offer && { ssid: offer.ssid };
    },
    withdraw,
  };
}

const isSame = (one: Wifi, other: Wifi): boolean => one.ssid === other.ssid && one.password === other.password;

import type { ServerMessage } from '@station/protocol/socket';
import { findHelper, startHelperProcess } from './adapters/ble-helper-process.ts';
import type { MachineNetwork } from './adapters/machine-network.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import { type Watchers, watchersOf } from '../core/watchers.ts';
import type { Mqtt } from '../mqtt/mqtt.ts';
import { type Module, opened, type Platform } from '../platform/module.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { type Expected, openExpectedDevices } from './expected-devices.ts';
import { type ProvisioningConfig, startProvisioning } from './provisioning.ts';
import { registerProvisioningRoutes } from './provisioning-routes.ts';
import { createProvisioningStore, type ProvisioningStore } from './provisioning-store.ts';
import { type Radio, startRadio } from './radio.ts';
import { askForPause } from './radio-pause.ts';
import { registerSettingsRoutes } from './settings.ts';
import type { SettingsStore } from './settings-store.ts';
import { startWifiChanges } from './wifi-change.ts';
import { registerWifiChangeRoutes } from './wifi-change-routes.ts';
import { createWifiChangeStore } from './wifi-change-store.ts';
import { createWifiOffers } from './wifi-offer.ts';
import { createWifiPasswordCheck } from './wifi-password.ts';

export type Expecting = { expected: Expected; store: ProvisioningStore };

/** Devices that are being added. Opened before the broker, which recognises them. */
export const expectedDevicesModule: Module<{ isBrokerExternal: boolean; box: SecretBox }, Expecting> = {
  open: async ({ host, store: database, events, stationEvents, trustedTime }, { isBrokerExternal, box }) => {
    const { clock, logger } = host;
    const store = createProvisioningStore({ db: database.db, box, clock, trustedTime, isBrokerExternal });
    const expected = openExpectedDevices({ store, events, stationEvents, clock, logger });
    return opened(expected, { store, expected });
  },
};

type ProvisioningNeeds = {
  config: ProvisioningConfig;
  expecting: Expecting;
  household: {
    mqtt: Mqtt;
    devices: DeviceStore;
    types: DeviceTypes;
    hasZone(id: string): Promise<boolean>;
  };
  settings: { store: SettingsStore; box: SecretBox };
  outside: Outside;
};

type Outside = {
  network: () => Promise<MachineNetwork>;
  /** Every message that is broadcast at /ws. */
  messages: { subscribe(listener: (message: ServerMessage) => void): Disposable };
  /** Counts the clients of the other backends too. */
  shareWatchers: (own: Watchers) => Watchers;
  /** Used by tests only, instead of Bluetooth. */
  radio: Radio | undefined;
};

/** Adds devices, tells them of another Wi-Fi, and holds the settings of both. */
export const provisioningModule: Module<ProvisioningNeeds, null> = {
  open: async (platform, needs) => {
    const { config, expecting, household, settings: own, outside } = needs;
    const { mqtt, devices, hasZone } = household;
    const { store: settings, box } = own;
    const { host, store, stationId, events, leadership, trustedTime, agent } = platform;
    const { clock, logger } = host;
    await using opening = new AsyncDisposableStack();
    const offers = createWifiOffers({ settings, hasDevices: async () => (await devices.list()).length > 0 });
    const changes = opening.use(
      startWifiChanges({
        store: createWifiChangeStore({ db: store.db, box, clock }),
        offers,
        broker: mqtt,
        events,
        leadership,
        clock,
        logger,
      }),
    );
    const checkPassword = createWifiPasswordCheck({ offers, agent });
    const radio = opening.use(outside.radio ?? (await openRadio(opening, platform, needs)));
    const provisioning = opening.use(
      startProvisioning({
        ...expecting,
        mqtt,
        radio,
        network: outside.network,
        config,
        stationId,
        events,
        leadership,
        trustedTime,
        clock,
        logger,
      }),
    );
    return opened(opening.move(), null, {
      serve: async ({ app }) => {
        const wifi = { settings, offers, changes, checkPassword };
        await registerSettingsRoutes(app, { ...wifi, onOffer: changes.notify });
        await registerWifiChangeRoutes(app, wifi);
        await registerProvisioningRoutes(app, { ...provisioning, settings, checkPassword, hasZone });
      },
    });
  },
};

/** The station's own Wi-Fi changes, so it may need the radio now. */
const isAboutWifi = (message: ServerMessage): boolean =>
  message.type === 'agent_event' && /^(wifi|hotspot|portal)_/.test(message.event.event);

async function openRadio(
  opening: AsyncDisposableStack,
  { host, hub, events, leadership, agent }: Platform,
  { config, household: { devices, types }, outside: { messages, shareWatchers } }: ProvisioningNeeds,
): Promise<Radio> {
  const { clock, random, logger } = host;
  const { helper, environment, serviceUuid } = config.ble;
  const program = findHelper(helper);
  const radio = await startRadio({
    serviceUuid,
    startProcess: program === null ? null : (listener) => startHelperProcess({ program, environment, ...listener }),
    askForPause: async () => (agent.isConfigured ? askForPause(agent) : null),
    watchers: shareWatchers(watchersOf(hub)),
    leadership,
    hub,
    events,
    devices,
    types,
    clock,
    random,
    logger,
  });
  opening.use(messages.subscribe((message) => isAboutWifi(message) && radio.recheck()));
  return radio;
}

import type { ServerMessage } from '@station/protocol/socket';
import { findHelper, startHelperProcess } from './adapters/ble-helper-process.ts';
import type { MachineNetwork } from './adapters/machine-network.ts';
import type { Foundations } from './backend-platform.ts';
import type { BackendConfig } from './config.ts';
import { watchersOf } from './core/watchers.ts';
import { createZoneStore } from './devices/zones.ts';
import type { Mqtt } from './mqtt/mqtt.ts';
import { type Opened, opened } from './platform/module.ts';
import { type Expected, openExpectedDevices } from './provisioning/expected-devices.ts';
import { startProvisioning } from './provisioning/provisioning.ts';
import { registerProvisioningRoutes } from './provisioning/provisioning-routes.ts';
import { createProvisioningStore, type ProvisioningStore } from './provisioning/provisioning-store.ts';
import { type Radio, startRadio } from './provisioning/radio.ts';
import { askForPause } from './provisioning/radio-pause.ts';
import { registerSettingsRoutes } from './provisioning/settings.ts';
import type { SettingsStore } from './provisioning/settings-store.ts';
import { startWifiChanges } from './provisioning/wifi-change.ts';
import { registerWifiChangeRoutes } from './provisioning/wifi-change-routes.ts';
import { createWifiChangeStore } from './provisioning/wifi-change-store.ts';
import { createWifiOffers } from './provisioning/wifi-offer.ts';
import { createWifiPasswordCheck } from './provisioning/wifi-password.ts';

type Expecting = { expected: Expected; store: ProvisioningStore };

/** Opened before the broker, which recognises devices that are being added. */
export function openExpected(
  starting: AsyncDisposableStack,
  config: BackendConfig,
  { platform, settingsBox: box }: Foundations,
): Expecting {
  const { host, store: database, events, stationEvents, trustedTime } = platform;
  const { clock, logger } = host;
  const isBrokerExternal = config.mqtt.kind === 'external';
  const store = createProvisioningStore({ db: database.db, box, clock, trustedTime, isBrokerExternal });
  return { store, expected: starting.use(openExpectedDevices({ store, events, stationEvents, clock, logger })) };
}

type ProvisioningNeeds = {
  config: BackendConfig;
  foundations: Foundations;
  expecting: Expecting;
  mqtt: Mqtt;
  settings: SettingsStore;
  network: () => Promise<MachineNetwork>;
  /** Used by tests only, instead of Bluetooth. */
  radio: Radio | undefined;
};

/** Adds devices, tells them of another Wi-Fi, and holds the settings of both. */
export async function openProvisioning(needs: ProvisioningNeeds): Promise<Opened<null>> {
  const { config, foundations, expecting, mqtt, settings, network } = needs;
  const { platform, devices, settingsBox: box } = foundations;
  const { host, store, stationId, events, leadership, trustedTime, agent } = platform;
  const { clock, logger } = host;
  const { db } = store;
  await using opening = new AsyncDisposableStack();
  const offers = createWifiOffers({ settings, hasDevices: async () => (await devices.list()).length > 0 });
  const changes = opening.use(
    startWifiChanges({
      store: createWifiChangeStore({ db, box, clock }),
      offers,
      broker: mqtt,
      events,
      leadership,
      clock,
      logger,
    }),
  );
  const checkPassword = createWifiPasswordCheck({ offers, agent });
  const radio = opening.use(needs.radio ?? (await openRadio(opening, config, foundations)));
  const provisioning = opening.use(
    startProvisioning({
      ...expecting,
      mqtt,
      radio,
      network,
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
      const { has: hasZone } = createZoneStore({ db, clock });
      await registerProvisioningRoutes(app, { ...provisioning, settings, checkPassword, hasZone });
    },
  });
}

/** The station's own Wi-Fi changes, so it may need the radio now. */
const isAboutWifi = (message: ServerMessage): boolean =>
  message.type === 'agent_event' && /^(wifi|hotspot|portal)_/.test(message.event.event);

async function openRadio(
  opening: AsyncDisposableStack,
  config: BackendConfig,
  { platform, devices, types, replicas, tap }: Foundations,
): Promise<Radio> {
  const { host, hub, events, leadership, agent } = platform;
  const { clock, random, logger } = host;
  const watchers = watchersOf(hub);
  const { helper, environment, serviceUuid } = config.ble;
  const program = findHelper(helper);
  const radio = await startRadio({
    serviceUuid,
    startProcess: program === null ? null : (listener) => startHelperProcess({ program, environment, ...listener }),
    askForPause: async () => (agent.isConfigured ? askForPause(agent) : null),
    watchers: replicas?.shareWatchers(watchers) ?? watchers,
    leadership,
    hub,
    events,
    devices,
    types,
    clock,
    random,
    logger,
  });
  opening.use(tap.subscribe((message) => isAboutWifi(message) && radio.recheck()));
  return radio;
}

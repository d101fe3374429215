import type { ServerMessage } from '@station/protocol/socket';
import { createAgentClient } from './adapters/agent-client.ts';
import { findHelper, startHelperProcess } from './adapters/ble-helper-process.ts';
import type { MachineNetwork } from './adapters/machine-network.ts';
import { type Foundations } from './backend-foundations.ts';
import { watchersOf } from './core/watchers.ts';
import { type Mqtt } from './mqtt/mqtt.ts';
import { type Expected, openExpectedDevices } from './provisioning/expected-devices.ts';
import { type Provisioning, startProvisioning } from './provisioning/provisioning.ts';
import { createProvisioningStore, type ProvisioningStore } from './provisioning/provisioning-store.ts';
import { type Radio, startRadio } from './provisioning/radio.ts';
import { askForPause } from './provisioning/radio-pause.ts';
import { createSettingsStore } from './provisioning/settings-store.ts';
import { startWifiChanges } from './provisioning/wifi-change.ts';
import { createWifiChangeStore } from './provisioning/wifi-change-store.ts';
import { createWifiOffers } from './provisioning/wifi-offer.ts';
import { createWifiPasswordCheck } from './provisioning/wifi-password.ts';

export function openExpected(
  opened: AsyncDisposableStack,
  { config, host, store: { db }, settingsBox: box, events, stationEvents, trustedTime }: Foundations,
): { expected: Expected; store: ProvisioningStore } {
  const { clock, logger } = host;
  const isBrokerExternal = config.mqtt.kind === 'external';
  const store = createProvisioningStore({ db, box, clock, trustedTime, isBrokerExternal });
  return { store, expected: opened.use(openExpectedDevices({ store, events, stationEvents, clock, logger })) };
}

export const openProvisioning = (
  { config, host, stationId, events, leadership, trustedTime }: Foundations,
  parts: {
    mqtt: Mqtt;
    radio: Radio;
    expected: Expected;
    store: ProvisioningStore;
    network: () => Promise<MachineNetwork>;
  },
): Provisioning =>
  startProvisioning({
    ...parts,
    config,
    stationId,
    events,
    leadership,
    trustedTime,
    clock: host.clock,
    logger: host.logger,
  });

export function openWifiChanges(
  { config, host, store, settingsBox: box, devices, events, leadership }: Foundations,
  broker: Mqtt,
) {
  const { clock, logger } = host;
  const { db } = store;
  const settings = createSettingsStore({ db, box, clock });
  const offers = createWifiOffers({ settings, hasDevices: async () => (await devices.list()).length > 0 });
  const changes = startWifiChanges({
    store: createWifiChangeStore({ db, box, clock }),
    offers,
    broker,
    events,
    leadership,
    clock,
    logger,
  });
  const agent = createAgentClient(config.agent, config.agentToken);
  return { settings, offers, changes, checkPassword: createWifiPasswordCheck({ offers, agent }) };
}

/** The station's own Wi-Fi changes, so it may need the radio now. */
const isAboutWifi = (message: ServerMessage): boolean =>
  message.type === 'agent_event' && /^(wifi|hotspot|portal)_/.test(message.event.event);

export async function openRadio(opened: AsyncDisposableStack, foundations: Foundations): Promise<Radio> {
  const { config, host, hub, events, devices, types, leadership, replicas } = foundations;
  const { clock, random, logger } = host;
  const agent = config.agent && createAgentClient(config.agent, config.agentToken);
  const watchers = watchersOf(hub);
  const { helper, environment, serviceUuid } = config.ble;
  const program = findHelper(helper);
  const radio = await startRadio({
    serviceUuid,
    startProcess: program === null ? null : (listener) => startHelperProcess({ program, environment, ...listener }),
    askForPause: async () => agent && askForPause(agent),
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
  opened.use(foundations.tap.subscribe((message) => isAboutWifi(message) && radio.recheck()));
  return radio;
}

import type { OutgoingProxy } from '@station/kit/outgoing-proxy';
import type { Commands } from '../core/commands.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import { type Module, opened } from '../platform/module.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { placeOf } from '../store/station-store.ts';
import { registerAutomationRoutes } from './automation-routes.ts';
import { type Automations, type AutomationsParts, createAutomations } from './automations.ts';

type AutomationsNeeds = {
  config: AutomationsConfig;
  devices: DeviceStore;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  broker: AutomationsParts['broker'];
};

type AutomationsConfig = {
  /** Private addresses that webhooks may call. */
  webhookAllow: readonly string[];
  proxy: OutgoingProxy;
  /** Whether other backends work on the same database. */
  isShared: boolean;
};

export const automationsModule: Module<AutomationsNeeds, Pick<Automations, 'recheck'>> = {
  open: async (platform, { config, ...needs }) => {
    const { host, store, station, events, leadership, trustedTime, conditions } = platform;
    const automations = createAutomations({
      ...needs,
      ...config,
      store,
      events,
      trustedTime,
      leadership,
      conditions,
      where: async () => {
        const row = await station.read();
        return { timeZone: row.time_zone, place: placeOf(row) };
      },
      clock: host.clock,
      logger: host.logger,
    });
    return opened(automations, automations, {
      serve: ({ app }) => registerAutomationRoutes(app, { automations: automations.service }),
      begin: automations.begin,
      prune: automations.prune,
    });
  },
};

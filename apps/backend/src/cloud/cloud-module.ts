import { type Module, opened } from '../platform/module.ts';
import type { Cloud, CloudParts } from './cloud.ts';
import { registerCloudRoutes } from './cloud-routes.ts';
import type { CloudSettings } from './cloud-settings.ts';
import type { CloudScenes } from './methods.ts';
import { startCloudOf } from './start-cloud.ts';

type CloudNeeds = {
  /** Null: there is no cloud. */
  config: CloudSettings | null;
  household: Pick<CloudParts, 'devices' | 'types' | 'commands' | 'publish' | 'box'>;
  scenes: CloudScenes;
  tap: CloudParts['tap'];
  others: CloudParts['others'];
  hooks: Pick<CloudParts, 'onReset' | 'tuning'>;
};

export const cloudModule: Module<CloudNeeds, Cloud | null> = {
  open: async (platform, { config, household, scenes, tap, others, hooks }) => {
    const { host, stationId, store, events, hub, tokens, leadership, trustedTime } = platform;
    const facts = { stationId, store, events, hub, tokens, leadership, trustedTime };
    const cloud = await startCloudOf(config, { ...host, ...facts, ...household, ...hooks, scenes, tap, others });
    return opened(cloud, cloud, { serve: ({ app }) => registerCloudRoutes(app, { cloud }) });
  },
};

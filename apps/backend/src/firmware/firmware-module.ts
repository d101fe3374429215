import type { Commands } from '../core/commands.ts';
import type { DeviceTypeRegistry } from '../core/type-registry.ts';
import { type Module, opened } from '../platform/module.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type FirmwareConfig, startFirmware } from './firmware.ts';
import { registerFirmwareRoutes } from './firmware-routes.ts';
import { registerOtaRoutes } from './ota-routes.ts';

type FirmwareNeeds = {
  config: FirmwareConfig;
  /** The reverse proxy as the local network sees it, without a slash at the end. */
  publicUrl: () => Promise<string>;
  commands: Pick<Commands, 'send'>;
  devices: Pick<DeviceStore, 'findById'>;
  types: DeviceTypeRegistry;
};

/** Firmware of devices, and how it reaches them. */
export const firmwareModule: Module<FirmwareNeeds, null> = {
  open: async ({ host, store, hub, events, leadership, agent }, { config, publicUrl, commands, devices, types }) => {
    const { clock, logger } = host;
    const { isLeader } = leadership;
    const { db, logged } = store;
    const firmware = startFirmware({ config, publicUrl, db, logged, hub, events, commands, isLeader, clock, logger });
    return opened(firmware, null, {
      serve: async ({ app }) => {
        await registerFirmwareRoutes(app, { firmware, agent });
        await registerOtaRoutes(app, { firmware, devices, types });
      },
    });
  },
};

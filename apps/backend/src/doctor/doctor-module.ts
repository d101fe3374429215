import { type Module, opened } from '../platform/module.ts';
import type { DoctorConfig } from './doctor.ts';
import type { RecentLog } from './recent-log.ts';
import { registerStationDoctor, type StationDoctorParts } from './station-doctor.ts';

type DoctorNeeds = {
  config: DoctorConfig;
  /** Secrets of the configuration. */
  secrets: readonly string[];
  /** Secret settings, e.g. the Wi-Fi for devices. */
  readSecret: StationDoctorParts['readSecret'];
  log: RecentLog;
};

export const doctorModule: Module<DoctorNeeds, null> = {
  open: async ({ host: { clock }, store, conditions, trustedTime, agent }, needs) =>
    opened(null, null, {
      serve: ({ app, closing }) =>
        registerStationDoctor(app, {
          ...needs,
          store,
          conditions: conditions.list,
          trustedTime,
          agent,
          clock,
          closing,
        }),
    }),
};

import { Type, type Static } from 'typebox';
import { Time } from './rest.ts';

/**
 * Catalogue of the conditions of the backend, as GET /api/conditions reports them: what is wrong, then what helps. Facts raise and clear
 * them. Those of the cloud link are in `cloud-conditions.ts`, those of the agent in `conditions.ts`.
 */
export const backendConditions = {
  unknown_devices: {
    severity: 'info',
    message:
      'Devices that this station does not know want to connect. They wait and get no answer. Accept or block each of them (Unknown devices).',
  },
  foreign_station_devices: {
    severity: 'warning',
    message:
      'Devices publish under the id of another station (details.stationIds). They are ignored and never answered. If STATION_ID was changed or the database was lost, set STATION_ID to that id again. If another station uses this broker, nothing is needed.',
  },
  device_logins_missing: {
    severity: 'warning',
    message:
      'The broker has no login for some devices of this station (details.externalIds), so they cannot connect. Restore the data of the broker, put their tokens into DEVICES_FILE, or set these devices up again.',
  },
} as const satisfies Record<string, { severity: 'info' | 'warning' | 'fault'; message: string }>;

export type BackendConditionId = keyof typeof backendConditions;

/** GET /api/conditions (user): what is wrong now, in the order in which it was raised. */
export const BackendCondition = Type.Object({
  id: Type.String({ description: 'From the catalogue; a client ignores an id that it does not know.' }),
  severity: Type.Enum(['info', 'warning', 'fault']),
  message: Type.String({ description: 'In English: what is wrong, then what helps.' }),
  since: Time,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'unknown_devices: `count`. foreign_station_devices: `stationIds`, `count`. device_logins_missing: `externalIds` (at most 20), `count`.',
  }),
});
export type BackendCondition = Static<typeof BackendCondition>;
export const BackendConditions = Type.Array(BackendCondition);

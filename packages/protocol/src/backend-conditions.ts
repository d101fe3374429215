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
  devices_reconnecting: {
    severity: 'warning',
    message:
      'Devices connect again and again (details.externalIds): two boards have one id and end each other’s connection, or a board restarts. Switch one board off to find out, and set it up again under its own id.',
  },
  automations_broken: {
    severity: 'warning',
    message:
      'Automations that are on no longer work (details.names), for example because a device was removed. Edit them, or turn them off.',
  },
  storage_full: {
    severity: 'fault',
    message:
      'The disk is full, so the station cannot store anything. It still shows what it has; messages of devices wait at the broker. Free some space: the station then continues automatically.',
  },
  storage_unwritable: {
    severity: 'fault',
    message:
      'The station cannot write to its storage (details.reason). It still shows what it has; messages of devices wait at the broker. Check the disk or SD card, or the database server; the station then continues automatically.',
  },
  storage_low: {
    severity: 'warning',
    message:
      'The disk is nearly full (details.freeMb); details.filledBy says whether the database or something else takes most of it. Before the space ends, the oldest history is deleted, at most half of it; states of devices are always stored. Free some space, or use a larger disk.',
  },
  backup_failed: {
    severity: 'warning',
    message:
      'The last backup was not made, or did not reach a destination (details.place, details.reason). The station tries again within an hour. Look at Settings → Backup.',
  },
  backup_old: {
    severity: 'warning',
    message: 'There is no good backup of the last three days. Look at Settings → Backup, and make one.',
  },
  notifications_failing: {
    severity: 'warning',
    message:
      'Notifications do not arrive (details.channels). They are sent again, for a day at most. Look at Settings → Notifications, and test the channel there.',
  },
  clock_untrusted: {
    severity: 'warning',
    message:
      'It is not known whether the clock is right. Nothing is deleted because of its age, and new times are corrected later. Connect the station to the internet, or set the clock (Station).',
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
      'unknown_devices: `count`. foreign_station_devices: `stationIds`, `count`. device_logins_missing, devices_reconnecting: `externalIds` (at most 20), `count`. automations_broken: `names` (at most 20; empty: it has none), `count`. storage_full, storage_unwritable: `reason` as in /api/health. storage_low: `freeMb`, `databaseMb` (with its copies), `otherMb`, `filledBy` (`database` or `other`). backup_failed: `place` (or null), `reason`. notifications_failing: `channels`.',
  }),
});
export type BackendCondition = Static<typeof BackendCondition>;
export const BackendConditions = Type.Array(BackendCondition);

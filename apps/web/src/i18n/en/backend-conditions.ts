export { backendConditionTitle } from '@station/protocol/condition-titles-en';

/** What helps with them. */
export const backendCondition = {
  foreign_station_devices:
    'They use the id of another station ({{ids}}) and get no answer. If the id of this station was changed, or its database was lost, an admin should set that id again in the settings file. If another station uses this broker, there is nothing to do.',
  device_logins_missing:
    'The message broker has lost the logins of some devices ({{ids}}). Restore the broker’s data, or set these devices up again.',
  devices_reconnecting:
    'Two boards have one id ({{ids}}) and end each other’s connection, or a board restarts. Switch one of them off to find out, and set it up again under its own id.',
  automations_broken:
    'Something that it uses is gone, for example a removed device. Open Automations: the ones that no longer work are marked there. Edit them, or turn them off.',
  storage_full:
    'The station still shows what it has, and messages of devices wait until there is space. Free some space on its disk; it then continues automatically.',
  storage_unwritable:
    'The station still shows what it has, and messages of devices wait ({{reason}}). Check its disk or SD card, or the database server; it then continues automatically.',
  storage_low:
    'About {{freeMb}} MB are free. The oldest history is deleted before the space ends; the states of devices are always saved. Free some space or use a larger disk.',
  backup_failed: 'The station tries again within an hour. Settings → Backup says what went wrong.',
  backup_old: 'No good backup was made in the last three days. Open Settings → Backup and make one.',
  notifications_failing:
    'Messages are sent again for a day at most. Open Settings → Notifications and test the channel there.',
  clock_untrusted:
    'It is not known whether the time of the station is right. Until then nothing is deleted because of its age, and new times are corrected later. Connect the station to the internet, or set its clock below.',
} as const;

/** `storage_low`, if the station says what takes the space. */
export const filledDisk = {
  database:
    'About {{freeMb}} MB are free. The station’s own data takes most of the disk: {{databaseMb}} MB. Before the space ends, the oldest history is deleted, at most half of it; the states of devices are always saved. Use a larger disk, or let an admin lower the limit for the data in the settings file.',
  other:
    'About {{freeMb}} MB are free. The station’s data takes {{databaseMb}} MB; other files take {{otherMb}} MB: backups, images or other programs. Free some space or use a larger disk. Before the space ends, the oldest history is deleted, at most half of it; the states of devices are always saved.',
} as const;

/** In place of the help of `storage_unwritable`. */
export const heldDatabase =
  'The station still shows what it has, and messages of devices wait: another program has locked the database. Save or close what is open in it; the station then continues automatically.';

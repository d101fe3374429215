/** Titles of the conditions of the backend. The first page shows the station's own text until these are there. */
export const backendConditionTitle = {
  foreign_station_devices: 'Devices of another station connect here',
  device_logins_missing: 'Some devices cannot log in',
  storage_full: 'The disk is full',
  storage_unwritable: 'The station cannot save data',
  storage_low: 'The disk is nearly full',
  backup_failed: 'The last backup failed',
  backup_old: 'There is no recent backup',
  clock_untrusted: 'The clock may be wrong',
} as const;

/** What helps with them. */
export const backendCondition = {
  foreign_station_devices:
    'They use the id of another station ({{ids}}) and get no answer. If STATION_ID was changed on this station, or its database was lost, set that id again. If another station uses this broker, nothing is needed.',
  device_logins_missing:
    'The message broker has lost the logins of some devices ({{ids}}). Restore the broker’s data, or set these devices up again.',
  storage_full:
    'The station still shows what it has, and messages of devices wait until there is space. Free some space on its disk; it then continues by itself.',
  storage_unwritable:
    'The station still shows what it has, and messages of devices wait ({{reason}}). Check its disk or SD card, or the database server; it then continues by itself.',
  storage_low:
    'About {{freeMb}} MB are free. The oldest history is deleted before the space ends; the states of devices are always saved. Free some space or use a larger disk.',
  backup_failed: 'The station tries again within an hour. Settings → Backup says what went wrong.',
  backup_old: 'No good backup was made in the last three days. Open Settings → Backup and make one.',
  clock_untrusted:
    'It is not known whether the time of the station is right. Until then nothing is deleted because of its age, and new times are corrected later. Connect the station to the internet, or set its clock below.',
} as const;

/** `storage_low`, if the station says what takes the space. */
export const filledDisk = {
  database:
    'About {{freeMb}} MB are free. The station’s own data takes most of the disk: {{databaseMb}} MB. Before the space ends, the oldest history is deleted, at most half of it; the states of devices are always saved. Lower STORAGE_MAX_MB or use a larger disk.',
  other:
    'About {{freeMb}} MB are free. The station’s data takes {{databaseMb}} MB; other files take {{otherMb}} MB: backups, images or other programs. Free some space or use a larger disk. Before the space ends, the oldest history is deleted, at most half of it; the states of devices are always saved.',
} as const;

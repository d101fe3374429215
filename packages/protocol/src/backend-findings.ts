import { commonFindings, type FindingCatalogue } from './doctor-findings.ts';

/** What the doctor of the backend can find. */
export const backendFindings = {
  ...commonFindings,
  data_folder_missing: {
    status: 'warning',
    message: 'The data folder {folder} does not exist.',
    help: 'The backend creates it at its first start. If it has run before, check DATA_DIR and what is mounted there.',
  },
  data_folder_not_writable: {
    status: 'fault',
    message: 'The data folder {folder} cannot be written.',
    help: 'It must belong to the user that the backend runs as.',
  },
  open_to_others: {
    status: 'warning',
    message: '{file} can be read by other users (mode {mode}).',
    help: 'Allow only its owner: chmod go= and the file.',
  },
  owner_differs: {
    status: 'fault',
    message: '{file} belongs to user {owner}, the data folder to user {expected}.',
    help: 'Give it to the same user with chown; otherwise the backend cannot use it.',
  },
  key_damaged: {
    status: 'fault',
    message: '{file} does not hold a key.',
    help: 'Restore it from a backup. Without it the backend makes a new one: people log in again, and secret settings (Wi-Fi, cloud) must be entered again.',
  },
  database_missing: {
    status: 'warning',
    message: 'There is no database {file}.',
    help: 'The backend creates it, or restores the newest good copy, at its next start.',
  },
  database_damaged: {
    status: 'fault',
    message: 'The database {file} is damaged: {reason}.',
    help: 'Restart the backend: it keeps the damaged file and restores the newest good copy. Then check the health of the disk.',
  },
  database_unreadable: {
    status: 'fault',
    message: 'The database {file} cannot be read: {reason}.',
    help: 'Check its permissions and the health of the disk.',
  },
  database_not_read: {
    status: 'unknown',
    message: 'The database is large ({size}); only its beginning was checked.',
    help: 'The doctor on the command line of the station reads all of it.',
  },
  database_unreachable: {
    status: 'fault',
    message: 'The database at {host} does not answer: {reason}.',
    help: 'Check the log of the database server, and DATABASE_URL.',
  },
  database_suspected: {
    status: 'warning',
    message: 'The backend noticed a sign of damage: {reason}.',
    help: 'Restart the backend: it checks the whole file and restores the newest good copy if needed.',
  },
  database_replacement_unfinished: {
    status: 'fault',
    message: 'The replacement of a damaged database was interrupted.',
    help: 'Restart the backend: it finishes the replacement.',
  },
  database_was_damaged: {
    status: 'warning',
    message: 'A damaged database was replaced by a copy; it is kept as {file}.',
    help: 'Check the health of the disk. Delete the file when it is no longer needed.',
  },
  database_was_lost: {
    status: 'fault',
    message: 'The database was damaged and no copy was good; the damaged one is kept as {file}.',
    help: 'Keep the file: it may be all that is left. Open the web app and restore a backup.',
  },
  database_newer: {
    status: 'warning',
    message: 'The database was changed by a newer release ({migrations}).',
    help: 'Nothing, while everything works: this is normal after a rollback.',
  },
  database_behind: {
    status: 'warning',
    message: 'The database is waiting for changes of this release ({migrations}).',
    help: 'Start the backend: it makes them.',
  },
  copies_missing: {
    status: 'warning',
    message: 'There is no copy of the database.',
    help: 'The backend makes one a day while it runs. If there is none after a day, its log says why (database_copy_failed).',
  },
  copies_old: {
    status: 'warning',
    message: 'The newest copy of the database is {days} days old.',
    help: 'The backend makes one a day while it runs. Its log says why it does not (database_copy_failed).',
  },
  copy_damaged: {
    status: 'warning',
    message: 'The copy {file} is damaged: {reason}.',
    help: 'Check the health of the disk. Delete this copy; the backend makes a new one within a day.',
  },
  backup_disk_missing: {
    status: 'warning',
    message: 'No disk is mounted at {folder} (BACKUP_DIR): backups stay on the disk of the station.',
    help: 'Plug in the stick, or mount the share, and check what mounts it (/etc/fstab). Or remove BACKUP_DIR.',
  },
  backup_disk_not_writable: {
    status: 'warning',
    message: 'The disk at {folder} (BACKUP_DIR) takes no backups: user {user} may not write there.',
    help: 'Make that user the owner with chown; mount a stick with FAT or exFAT with uid={user}. A disk that is read-only has errors, or a switch for that.',
  },
  backup_disk_fat: {
    status: 'ok',
    message: 'The disk at {folder} has the file system FAT: no file on it can be larger than 4 GB.',
    help: 'A larger backup does not fit there, however much space is free. Format the disk with exFAT or ext4 before the backups are as large.',
  },
  backup_disk_exfat: {
    status: 'ok',
    message:
      'The disk at {folder} has the file system exFAT, which has no journal: a disk that is pulled out, or loses power, while a backup is written may lose files.',
    help: 'Unmount it before you pull it out. With ext4 the disk keeps what it had.',
  },
  broker_unreachable: {
    status: 'fault',
    message: 'The MQTT broker {broker} does not answer: {reason}.',
    help: 'Check the service of the broker, its log and MQTT_URL.',
  },
  broker_refuses: {
    status: 'fault',
    message: 'The MQTT broker {broker} refuses the login of the backend: {reason}.',
    help: 'MQTT_USERNAME and MQTT_PASSWORD must be those that the broker knows. In the shipped stack, restart the service mqtt.',
  },
  broker_not_listening: {
    status: 'fault',
    message: 'The backend runs, but nothing listens on the port of its broker ({port}).',
    help: 'Check the log of the backend, then restart it.',
  },
  backend_stopped: {
    status: 'warning',
    message: 'The backend is not running.',
    help: 'Start it. If it ends again, its log says why.',
  },
  backend_unhealthy: {
    status: 'fault',
    message: 'The backend runs but is not healthy: {reason}.',
    help: 'The other checks and the log of the backend say more.',
  },
  agent_unreachable: {
    status: 'fault',
    message: 'The agent does not answer at {address}: {reason}.',
    help: 'Check the service of the agent: systemctl status station-agent. Updates and Wi-Fi need it; devices do not.',
  },
  agent_refuses: {
    status: 'fault',
    message: 'The agent refuses the token of the backend.',
    help: 'AGENT_TOKEN must be the same in the environment files of the agent and of the stack.',
  },
  web_app_incomplete: {
    status: 'fault',
    message: '{file} of the web app is missing.',
    help: 'Install the release again, or build the web app again. WEB_DIR must name its folder.',
  },
} as const satisfies FindingCatalogue;

export type BackendFindingCode = keyof typeof backendFindings;

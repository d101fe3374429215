import type { DoctorStatus } from './doctor.ts';

/**
 * Catalogue of `doctor`: the checks, and what every program can find; the rest is in `backend-findings.ts` and `agent-findings.ts`. A message
 * says what is wrong, a help what to do. Names in braces are replaced by the values of the finding. `fault`: something does not work or data
 * is in danger; `warning`: look at it; `ok`: to know.
 */
export const doctorChecks = {
  configuration: 'Configuration',
  disk_space: 'Disk space',
  disk_health: 'Disk health',
  clock: 'Clock',
  names: 'Name resolution',
  data_folder: 'Data folder',
  files: 'Files and permissions',
  database: 'Database',
  database_copies: 'Copies of the database',
  backup_disk: 'Disk for backups',
  broker: 'MQTT broker',
  web_server: 'Web server',
  web_app: 'Web app',
  agent: 'Agent',
  state: 'State of the agent',
  service: 'Service of the agent',
  engine: 'Docker and Compose',
  images: 'Images of the releases',
  services: 'Services of the stack',
  wifi: 'Wi-Fi',
  local_name: 'Name in the network',
  machine_updates: 'Security updates of the machine',
  update_keys: 'Keys that sign releases',
  encryption: 'Encryption',
  public_certificate: 'Certificate of the public name',
  release_server: 'Release server',
  backend: 'Backend',
} as const;
export type DoctorCheckId = keyof typeof doctorChecks;

type FindingText = { status: DoctorStatus; message: string; help: string };
export type FindingCatalogue = Readonly<Record<string, FindingText>>;

/** Found by every program. */
export const commonFindings = {
  check_failed: {
    status: 'unknown',
    message: 'This could not be checked: {reason}.',
    help: 'Check again. If this lasts, the log of the program may say more.',
  },
  follows: {
    status: 'unknown',
    message: 'Another finding of this report is the cause ({cause}).',
    help: 'Mend that one first, then check again.',
  },
  config_invalid: {
    status: 'fault',
    message: '{problem}.',
    help: 'Correct the environment file. All variables are in docs/configuration.md.',
  },
  config_file_unusable: {
    status: 'fault',
    message: '{file} ({variable}) cannot be used: {reason}.',
    help: 'Correct the file, or the path in the environment file.',
  },
  disk_full: {
    status: 'fault',
    message: '{folder} has only {free} left of {size}.',
    help: 'Free some space: old logs, downloaded packages, images without a name. docs/operations.md has the commands.',
  },
  disk_nearly_full: {
    status: 'warning',
    message: '{folder} has {free} left of {size}.',
    help: 'Free some space soon: old logs, downloaded packages, images without a name. docs/operations.md has the commands.',
  },
  disk_files_used_up: {
    status: 'fault',
    message: 'The file system of {folder} has room for only {free} more files.',
    help: 'Remove small files, such as old logs and packages. More space does not help.',
  },
  disk_read_only: {
    status: 'fault',
    message: 'The file system of {folder} ({device}) is read-only.',
    help: 'The kernel does this after errors of the disk. Copy the data away now, then restart the station. If it happens again, replace the card or disk.',
  },
  disk_errors: {
    status: 'fault',
    message: 'The kernel counted {count} errors of the file system on {device}; the first {first}, the last {last}.',
    help: 'Copy the data away and replace the card or disk. After a repair with e2fsck the counter starts again at zero.',
  },
  disk_worn: {
    status: 'warning',
    message: 'The memory {device} has used {percent} % of its expected life.',
    help: 'Plan to replace it.',
  },
  disk_worn_out: {
    status: 'fault',
    message: 'The memory {device} is at the end of its life.',
    help: 'Copy the data away and replace it now.',
  },
  clock_wrong: {
    status: 'fault',
    message: 'The clock shows {now}, but something was written at {known}.',
    help: 'Connect the station to the internet, so that network time (NTP) sets the clock, or set it manually.',
  },
  clock_not_synchronised: {
    status: 'warning',
    message: 'The clock is not synchronised with network time (NTP).',
    help: 'Connect the station to the internet; the router or the network may block NTP (UDP port 123).',
  },
  port_taken: {
    status: 'fault',
    message: 'Port {port} is used by another program.',
    help: 'Stop that program, or choose another port in the environment file.',
  },
  name_unresolved: {
    status: 'warning',
    message: 'The name {host} cannot be resolved ({reason}).',
    help: 'Check the network of the station and its name server (DNS).',
  },
} as const satisfies FindingCatalogue;

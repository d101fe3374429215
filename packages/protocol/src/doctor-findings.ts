import type { DoctorStatus } from './doctor.ts';

/**
 * Catalogue of `doctor`: the checks, and what each can find. A message says what is wrong, a help what to do. Names in braces are
 * replaced by the values of the finding. `fault`: something does not work or data is in danger; `warning`: look at it; `ok`: to know.
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

export const agentFindings = {
  ...commonFindings,
  config_doubtful: {
    status: 'warning',
    message: '{problem}.',
    help: 'Correct the environment file of the agent, then restart the agent.',
  },
  environment_open_to_others: {
    status: 'warning',
    message: '{file} can be read by other users (mode {mode}); it holds secrets.',
    help: 'Allow only its owner: chmod 600 and the file.',
  },
  certificate_missing: {
    status: 'fault',
    message: 'There is no certificate in {folder}, so the web app has no HTTPS.',
    help: 'The agent makes it within a minute. If this lasts, the log of the agent says why (certificate_failed).',
  },
  certificate_expired: {
    status: 'fault',
    message: 'The certificate of the station is valid from {from} to {until}, and not now.',
    help: 'Check the clock of the machine. The agent renews the certificate when it runs.',
  },
  authority_renewed: {
    status: 'warning',
    message:
      'The authority of the station was renewed; phones and computers that have the certificate of before trust it until {until}.',
    help: 'Open /secure on each of them, and install the certificate again, before that day.',
  },
  public_certificate_missing: {
    status: 'fault',
    message: 'There is no certificate for {name}: {reason}.',
    help: 'The name must lead to this station from the internet, and the router must forward port 80 or 443 to it. The proxy tries again automatically. HTTP and the station’s own certificate keep working.',
  },
  public_certificate_ending: {
    status: 'warning',
    message: 'The certificate for {name} ends on {until} and is not renewed: {reason}.',
    help: 'The name must lead to this station from the internet, and the router must forward port 80 or 443 to it. The proxy tries again automatically.',
  },
  public_certificate_ended: {
    status: 'fault',
    message: 'The certificate for {name} has ended on {until} and was not renewed: {reason}.',
    help: 'Check the clock of the machine. The name must lead to this station from the internet, and the router must forward port 80 or 443 to it. HTTP and the station’s own certificate keep working.',
  },
  state_missing: {
    status: 'warning',
    message: 'There is no journal in {folder}: no release is installed yet.',
    help: 'The agent installs the first release when it reaches the release server.',
  },
  state_damaged: {
    status: 'fault',
    message: 'The journal in {folder} is damaged: {reason}.',
    help: 'Restart the agent: it keeps the damaged file and reads the state from the running stack. Then check the health of the disk.',
  },
  state_unreadable: {
    status: 'fault',
    message: 'The state in {folder} cannot be read: {reason}.',
    help: 'Run the doctor as root. Check the health of the disk.',
  },
  state_file_stale: {
    status: 'warning',
    message: '{file} does not agree with the journal.',
    help: 'Restart the agent: it writes the file again.',
  },
  unit_inactive: {
    status: 'fault',
    message: 'The service station-agent is {state}.',
    help: 'Start it: systemctl start station-agent. Its log says why it ended.',
  },
  unit_not_enabled: {
    status: 'warning',
    message: 'The service station-agent does not start with the station ({state}).',
    help: 'systemctl enable station-agent',
  },
  engine_unreachable: {
    status: 'fault',
    message: 'Docker does not answer: {reason}.',
    help: 'systemctl restart docker; its log says why it does not run.',
  },
  compose_fails: {
    status: 'fault',
    message: 'Compose cannot read the stack in {folder}: {reason}.',
    help: 'Correct docker-compose.yml or its .env, or install the Compose plugin of Docker.',
  },
  image_files_unsynced: {
    status: 'warning',
    message:
      'containerd does not write the files of an image to the disk before a pull ends: a power cut may leave them empty.',
    help: 'Set sync_fs = true in /etc/containerd/config.toml, under diff-service, and restart containerd and Docker.',
  },
  image_missing: {
    status: 'fault',
    message: 'The image of {service} ({version}) is missing.',
    help: 'Restart the station while it reaches the registry: the agent pulls the image again.',
  },
  rollback_image_missing: {
    status: 'warning',
    message: 'The image of {service} of the previous release {version} is missing: a rollback needs the network.',
    help: 'Nothing. The next update keeps a complete previous release again.',
  },
  service_not_running: {
    status: 'fault',
    message: 'The service {service} is {state}.',
    help: 'Check its log with docker compose logs. If this lasts, restart the station: the agent starts it.',
  },
  network_manager_missing: {
    status: 'warning',
    message: 'NetworkManager is not running: the agent cannot manage Wi-Fi.',
    help: 'systemctl start NetworkManager, or set WIFI_WATCHDOG=false if the station needs no Wi-Fi.',
  },
  wifi_device_missing: {
    status: 'warning',
    message: 'There is no Wi-Fi device {device}.',
    help: 'Check WIFI_INTERFACE, and whether the adapter is plugged in and its driver is loaded.',
  },
  wifi_blocked: {
    status: 'warning',
    message: 'The Wi-Fi radio is switched off.',
    help: 'rfkill unblock wifi; some radios need WIFI_COUNTRY.',
  },
  local_name_missing: {
    status: 'warning',
    message: 'The station has no name in its network (mDNS): it is found by its address only.',
    help: 'systemctl restart avahi-daemon; its log says why it does not run.',
  },
  security_updates_pending: {
    status: 'warning',
    message: 'Security updates of {count} packages of the machine are not installed: {packages}.',
    help: 'apt-get upgrade installs them. The package unattended-upgrades does it automatically.',
  },
  release_server_silent: {
    status: 'warning',
    message: 'The release manifest {url} cannot be fetched: {reason}.',
    help: 'Check the internet connection and UPDATE_SERVER_URL. Everything at home works without it.',
  },
  port_80_taken: {
    status: 'fault',
    message: 'Port 80 answers, but not with this station: {reason}.',
    help: 'Another program uses port 80. Stop it, or give the proxy another port with HTTP_PORT.',
  },
  dns_port_taken: {
    status: 'warning',
    message: 'A DNS server uses port 53 on every address: phones are not led to the setup page of the hotspot.',
    help: 'Bind that server to the addresses that it serves.',
  },
  backend_silent: {
    status: 'fault',
    message: 'The backend is not healthy at {url}: {reason}.',
    help: 'Check the services of the stack and the log of the backend.',
  },
} as const satisfies FindingCatalogue;

export type BackendFindingCode = keyof typeof backendFindings;
export type AgentFindingCode = keyof typeof agentFindings;
export type FindingCode = BackendFindingCode | AgentFindingCode;

/**
 * What follows from other findings, as `check: code`: while one of these causes is named, it is no fault of its own. A check whose cause is not
 * among them keeps its finding. Of two that name a service it must be the same one.
 */
export const consequences: Readonly<Record<string, readonly FindingCode[]>> = {
  'backend: backend_silent': ['engine_unreachable', 'compose_fails', 'service_not_running'],
  'broker: broker_unreachable': ['name_unresolved'],
  'data_folder: data_folder_not_writable': ['disk_full', 'disk_files_used_up', 'disk_read_only'],
  'database: database_unreachable': ['name_unresolved'],
  'encryption: certificate_expired': ['clock_wrong', 'unit_inactive'],
  'encryption: certificate_missing': ['unit_inactive'],
  'images: check_failed': ['engine_unreachable'],
  'public_certificate: public_certificate_ended': ['clock_wrong'],
  'public_certificate: public_certificate_ending': ['clock_wrong', 'name_unresolved'],
  'public_certificate: public_certificate_missing': ['engine_unreachable', 'compose_fails'],
  'release_server: release_server_silent': ['clock_wrong', 'name_unresolved'],
  'services: service_not_running': ['image_missing'],
  'web_server: backend_unhealthy': [
    'broker_refuses',
    'broker_unreachable',
    'data_folder_not_writable',
    'database_damaged',
    'database_unreachable',
    'disk_full',
    'disk_read_only',
  ],
};

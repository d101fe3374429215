import { commonFindings, type FindingCatalogue } from './doctor-findings.ts';

/** What the doctor of the agent can find. */
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

export type AgentFindingCode = keyof typeof agentFindings;

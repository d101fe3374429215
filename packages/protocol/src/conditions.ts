/**
 * Catalogue of the conditions that an agent reports in /status. The text says what is wrong, then what helps.
 * Facts raise and clear a condition; nobody clears it manually.
 */
export const conditions = {
  agent_open_on_network: {
    severity: 'warning',
    message: 'The agent listens on the network without AGENT_TOKEN. Set a token, or let it listen on loopback only.',
  },
  clock_behind: {
    severity: 'warning',
    message:
      'The clock shows an earlier time than this station has already recorded. Set it; until then secure connections may fail.',
  },
  disk_space_low: {
    severity: 'fault',
    message:
      'There is not enough free disk space for the new release. Free some space; the update is retried automatically.',
  },
  updates_unsigned: {
    severity: 'warning',
    message:
      'Releases are not signed: whoever controls their server or, without https, the network decides what runs here. Set UPDATE_PUBLIC_KEY to the key of the publisher.',
  },
  agent_too_old: {
    severity: 'warning',
    message: 'The latest release needs a newer agent. Run the install script again.',
  },
  compose_not_linked: {
    severity: 'warning',
    message:
      'The environment file of the stack cannot be written, so a plain "docker compose up" would not keep the installed release. Make the file writable.',
  },
  compose_project_unreadable: {
    severity: 'fault',
    message:
      'Docker Compose cannot read the project of the stack; lastError has the reason. Correct its files or install the Compose plugin; the agent retries automatically.',
  },
  engine_storage_failed: {
    severity: 'fault',
    message:
      'The container engine cannot store an image that its registry delivered. Restart the station: the agent then removes damaged images and layers of its own. If it stays, remove unused images of other programs with "docker image prune --all", or check the disk.',
  },
  engine_unreachable: {
    severity: 'fault',
    message: 'The container engine does not answer. Check the Docker service; updates wait until it answers.',
  },
  firmware_cache_not_writable: {
    severity: 'fault',
    message:
      'New firmware cannot be stored: there is too little space, or the disk is not writable. Free some space; cached firmware stays, and the agent retries automatically.',
  },
  firmware_manifest_rejected: {
    severity: 'warning',
    message: 'The firmware manifest, or an entry of it, is not valid and was ignored. Publish a corrected manifest.',
  },
  firmware_manifest_unreachable: {
    severity: 'info',
    message: 'The firmware manifest could not be fetched. The agent retries automatically.',
  },
  firmware_not_handed_over: {
    severity: 'warning',
    message:
      'The backend does not accept firmware that is ready for devices. Check BACKEND_URL and BACKEND_AGENT_TOKEN; the agent retries automatically.',
  },
  firmware_refused: {
    severity: 'warning',
    message:
      'A published firmware image is damaged or does not match its manifest, so no device gets it. Publish it again under a newer version.',
  },
  hotspot_dns_port_taken: {
    severity: 'fault',
    message:
      'The hotspot cannot answer DNS queries: another program uses port 53. Stop it; the agent retries automatically.',
  },
  hotspot_failed: {
    severity: 'fault',
    message:
      'The hotspot for the Wi-Fi setup could not be started. The agent retries known networks and the hotspot automatically.',
  },
  image_damaged: {
    severity: 'fault',
    message:
      'Images of the stack are damaged on disk and cannot be healed now; lastError names them and says what helps. The agent retries automatically.',
  },
  internet_unreachable: {
    severity: 'warning',
    message:
      'The station is connected to its network but does not reach the internet. Everything local works; check the router.',
  },
  manifest_rejected: {
    severity: 'warning',
    message:
      'The published release manifest is not valid, or its signature does not verify; it was ignored. Publish a corrected manifest.',
  },
  manifest_unreachable: {
    severity: 'info',
    message: 'The release manifest could not be fetched. The agent retries automatically.',
  },
  network_manager_absent: {
    severity: 'fault',
    message: 'NetworkManager does not answer. Start it; until then the agent does not manage Wi-Fi.',
  },
  portal_port_taken: {
    severity: 'fault',
    message:
      'The Wi-Fi setup page cannot be shown: another program uses its port (PORTAL_PORT). Stop it; the agent retries automatically.',
  },
  registry_auth_failed: {
    severity: 'fault',
    message: 'The image registry refused the credentials. Check CONTAINER_USERNAME and CONTAINER_TOKEN.',
  },
  registry_unreachable: {
    severity: 'warning',
    message: 'An image could not be pulled from its registry. The agent retries automatically.',
  },
  release_failing: {
    severity: 'fault',
    message:
      'The release that was installed last does not work as it should; lastError has the reason. Roll back to the one before.',
  },
  rollback_unavailable: {
    severity: 'warning',
    message: 'Images of the previous release are no longer on this machine. A rollback would need the network.',
  },
  stack_unhealthy: {
    severity: 'fault',
    message:
      'The stack does not pass its health check. Look at the logs of its services; the agent keeps restarting it.',
  },
  state_not_writable: {
    severity: 'fault',
    message:
      'The agent cannot write to its state folder (DATA_DIR). Free some space or repair the disk; until then the agent changes nothing.',
  },
  wifi_blocked_hard: {
    severity: 'fault',
    message: 'Wi-Fi is off by a switch on the device. Switch it on.',
  },
  wifi_blocked_soft: {
    severity: 'fault',
    message: 'Wi-Fi is off by software (rfkill). Switch it on, or set the country with WIFI_COUNTRY.',
  },
  wifi_country_unset: {
    severity: 'warning',
    message: 'No country is set for Wi-Fi, and some radios stay off without one. Set WIFI_COUNTRY.',
  },
  wifi_credentials_not_forwarded: {
    severity: 'warning',
    message:
      'The backend did not accept the Wi-Fi credentials for new devices. Check BACKEND_URL and BACKEND_AGENT_TOKEN, or set the network in the web app; the agent retries automatically.',
  },
  wifi_no_radio: {
    severity: 'warning',
    message: 'There is no Wi-Fi device, so the station has no network without a cable. Connect a cable.',
  },
  wifi_not_kept: {
    severity: 'warning',
    message:
      'The joined Wi-Fi network could not be written to disk and is lost when the station is switched off. Free some space; the agent retries while the station is in that network. Otherwise join it again.',
  },
  wifi_state_not_writable: {
    severity: 'warning',
    message: 'The Wi-Fi watchdog cannot write its state to disk. Free some space; the watchdog continues without it.',
  },
  wifi_unmanaged: {
    severity: 'fault',
    message: 'NetworkManager is configured not to manage the Wi-Fi device. Change that in its configuration.',
  },
} as const satisfies Record<string, { severity: 'info' | 'warning' | 'fault'; message: string }>;

export type ConditionId = keyof typeof conditions;

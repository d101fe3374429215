/**
 * Catalogue of the standing conditions an agent can report in /status: what is wrong now and what helps.
 * A condition is raised and cleared by facts, never by hand.
 */
export const conditions = {
  agent_open_on_network: {
    severity: 'warning',
    message: 'The agent listens beyond this machine without AGENT_TOKEN. Set a token or bind it to loopback.',
  },
  clock_behind: {
    severity: 'warning',
    message: 'The clock is behind the last time this station knew; secure connections may fail until it is set.',
  },
  disk_space_low: {
    severity: 'fault',
    message:
      'There is not enough free space for the new release. Free some space; the update is tried again by itself.',
  },
  agent_too_old: {
    severity: 'warning',
    message: 'The latest release needs a newer agent. Run the install script again.',
  },
  compose_not_linked: {
    severity: 'warning',
    message:
      'The environment file of the stack could not be written: a bare "docker compose up" would not keep the installed release.',
  },
  compose_project_unreadable: {
    severity: 'fault',
    message:
      'Docker Compose cannot read the project of the stack; lastError says why. Mend its files or install the Compose plugin; it is tried again by itself.',
  },
  engine_unreachable: {
    severity: 'fault',
    message: 'The container engine does not answer. Updates wait until it does.',
  },
  firmware_cache_not_writable: {
    severity: 'fault',
    message:
      'New firmware cannot be stored: there is too little space, or the disk cannot be written. What is cached stays; it is tried again by itself.',
  },
  firmware_manifest_rejected: {
    severity: 'warning',
    message: 'The firmware manifest, or an entry of it, is not valid; that part was ignored.',
  },
  firmware_manifest_unreachable: {
    severity: 'info',
    message: 'The firmware manifest could not be fetched. It is tried again by itself.',
  },
  firmware_not_handed_over: {
    severity: 'warning',
    message:
      'The backend does not take over firmware that is ready for devices. Check BACKEND_URL and BACKEND_AGENT_TOKEN; it is tried again by itself.',
  },
  firmware_refused: {
    severity: 'warning',
    message: 'A published firmware image is damaged or not what it is said to be; no device gets it.',
  },
  hotspot_dns_port_taken: {
    severity: 'fault',
    message:
      'The hotspot cannot answer name queries: another program has port 53. Stop it; the hotspot is tried again by itself.',
  },
  hotspot_failed: {
    severity: 'fault',
    message: 'The hotspot for the Wi-Fi setup could not be started. Known networks and the hotspot are tried again.',
  },
  internet_unreachable: {
    severity: 'warning',
    message:
      'The station is in its network, but does not reach the internet. Everything local works; check the router.',
  },
  manifest_rejected: {
    severity: 'warning',
    message: 'The published release manifest is not valid or its signature does not verify; it was ignored.',
  },
  manifest_unreachable: {
    severity: 'info',
    message: 'The release manifest could not be fetched. It is tried again by itself.',
  },
  network_manager_absent: {
    severity: 'fault',
    message: 'NetworkManager does not answer. Wi-Fi is left alone until it does.',
  },
  portal_port_taken: {
    severity: 'fault',
    message: 'The Wi-Fi setup page cannot be shown: another program has its port (PORTAL_PORT). It is tried again.',
  },
  registry_auth_failed: {
    severity: 'fault',
    message: 'The image registry refused the credentials. Check CONTAINER_USERNAME and CONTAINER_TOKEN.',
  },
  registry_unreachable: {
    severity: 'warning',
    message: 'An image could not be fetched from its registry. It is tried again by itself.',
  },
  rollback_unavailable: {
    severity: 'warning',
    message: 'Images of the previous release are gone from this machine; going back would need the network.',
  },
  stack_unhealthy: {
    severity: 'fault',
    message: 'The stack does not pass its health check. The agent keeps bringing it up.',
  },
  state_not_writable: {
    severity: 'fault',
    message: 'The agent cannot write its state directory. Nothing is changed until it can.',
  },
  wifi_blocked_hard: {
    severity: 'fault',
    message: 'Wi-Fi is switched off by a switch on the device. Switch it on.',
  },
  wifi_blocked_soft: {
    severity: 'fault',
    message: 'Wi-Fi is switched off by software (rfkill). Switch it on, or set the country with WIFI_COUNTRY.',
  },
  wifi_country_unset: {
    severity: 'warning',
    message: 'No country is set for Wi-Fi, and some radios stay off without one. Set WIFI_COUNTRY.',
  },
  wifi_credentials_not_forwarded: {
    severity: 'warning',
    message:
      'The backend did not take over the Wi-Fi credentials for new devices. Check BACKEND_URL and BACKEND_AGENT_TOKEN, or set the network in the web app; it is tried again by itself.',
  },
  wifi_no_radio: {
    severity: 'warning',
    message: 'There is no Wi-Fi device. Without a cable the station has no network.',
  },
  wifi_not_kept: {
    severity: 'warning',
    message:
      'The Wi-Fi network that was joined could not be written to disk: it is lost when the station is switched off. Free some space: it is tried again by itself while the station is in that network; otherwise join it again.',
  },
  wifi_state_not_writable: {
    severity: 'warning',
    message: 'What the Wi-Fi duty has to remember cannot be written to disk. Free some space; it goes on without.',
  },
  wifi_unmanaged: {
    severity: 'fault',
    message: 'NetworkManager is told to leave the Wi-Fi device alone. Let it manage the device.',
  },
} as const satisfies Record<string, { severity: 'info' | 'warning' | 'fault'; message: string }>;

export type ConditionId = keyof typeof conditions;

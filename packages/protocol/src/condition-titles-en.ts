import type { CloudConditionId } from './cloud-conditions.ts';
import type { BackendConditionId } from './backend-conditions.ts';
import type { conditions } from './conditions.ts';

/** What the conditions of the agent are called in English, on pages and in notifications. */
export const agentConditionTitle = {
  agent_open_on_network: 'The update service is open to the network',
  clock_behind: 'The clock is behind',
  disk_space_low: 'Not enough free space for the new release',
  updates_unsigned: 'Releases are not signed',
  agent_too_old: 'The latest release needs a newer agent',
  compose_not_linked: 'A manually started stack would not use this release',
  compose_project_unreadable: 'The files of the stack cannot be read',
  engine_storage_failed: 'The container engine cannot store the new release',
  engine_unreachable: 'The container engine does not answer',
  firmware_cache_not_writable: 'New firmware for devices cannot be stored',
  firmware_manifest_rejected: 'The published firmware list is not valid',
  firmware_manifest_unreachable: 'The firmware server cannot be reached',
  firmware_not_handed_over: 'Firmware is ready, but the backend does not accept it',
  firmware_refused: 'A published firmware is damaged',
  hotspot_dns_port_taken: 'The hotspot cannot answer phones',
  hotspot_failed: 'The set-up hotspot could not be started',
  image_damaged: 'Parts of the station’s software are damaged',
  internet_unreachable: 'No internet',
  network_manager_absent: 'The network service does not answer',
  portal_port_taken: 'The Wi-Fi set-up page cannot be shown',
  wifi_blocked_hard: 'Wi-Fi is switched off at the device',
  wifi_blocked_soft: 'Wi-Fi is switched off',
  wifi_country_unset: 'No country is set for Wi-Fi',
  wifi_credentials_not_forwarded: 'New devices do not know the Wi-Fi yet',
  wifi_no_radio: 'There is no Wi-Fi device',
  wifi_not_kept: 'The Wi-Fi network could not be stored',
  wifi_state_not_writable: 'The Wi-Fi state cannot be stored',
  wifi_unmanaged: 'The station does not control Wi-Fi',
  manifest_rejected: 'The published release list is not valid',
  manifest_unreachable: 'The release server cannot be reached',
  registry_auth_failed: 'The image registry refused the credentials',
  registry_unreachable: 'The new release cannot be downloaded right now',
  release_failing: 'The new release does not work as it should',
  rollback_unavailable: 'The previous release is no longer on this station',
  stack_unhealthy: 'The services do not pass their health check',
  state_not_writable: 'The agent cannot save its state',
} as const satisfies Record<keyof typeof conditions, string>;

/** Those of the backend; unknown devices have a page of their own. The first page shows the station's own text until these are there. */
export const backendConditionTitle = {
  foreign_station_devices: 'Devices of another station connect here',
  device_logins_missing: 'Some devices cannot log in',
  devices_reconnecting: 'Devices connect again and again',
  automations_broken: 'An automation no longer works',
  storage_full: 'The disk is full',
  storage_unwritable: 'The station cannot save data',
  storage_low: 'The disk is nearly full',
  backup_failed: 'The last backup failed',
  backup_old: 'There is no recent backup',
  notifications_failing: 'Notifications do not arrive',
  clock_untrusted: 'The clock may be wrong',
} as const satisfies Record<Exclude<BackendConditionId, 'unknown_devices'>, string>;

/** Those of the cloud link. */
export const cloudConditionTitle = {
  cloud_rejected: 'The cloud does not accept this station',
  cloud_key_lost: 'The login for the cloud is lost',
  cloud_certificate_untrusted: 'The cloud cannot prove its identity',
  cloud_clock_wrong: 'The clock is too far off for the cloud',
  cloud_unreachable: 'The cloud cannot be reached',
  cloud_outbox_full: 'Messages for the cloud are being lost',
  cloud_outbox_nearly_full: 'Cloud queue almost full',
  cloud_dead_letters: 'The cloud rejected some messages',
} as const satisfies Record<CloudConditionId, string>;

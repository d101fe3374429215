import type { BackendConditionId } from './backend-conditions.ts';
import type { CloudConditionId } from './cloud-conditions.ts';
import type { conditions } from './conditions.ts';

/** What the conditions of the agent are called in German, on pages and in notifications. */
export const agentConditionTitle = {
  agent_open_on_network: 'Der Update-Dienst ist im Netzwerk offen',
  clock_behind: 'Die Uhr geht nach',
  disk_space_low: 'Zu wenig Speicherplatz für die neue Version',
  updates_unsigned: 'Die Versionen sind nicht signiert',
  agent_too_old: 'Die neueste Version braucht einen neueren Agent',
  compose_not_linked: 'Ein manuell gestarteter Stack hätte nicht diese Version',
  compose_project_unreadable: 'Die Dateien des Stacks sind nicht lesbar',
  engine_storage_failed: 'Die Container-Engine kann die neue Version nicht speichern',
  engine_unreachable: 'Die Container-Engine antwortet nicht',
  firmware_cache_not_writable: 'Neue Firmware für Geräte lässt sich nicht speichern',
  firmware_manifest_rejected: 'Die veröffentlichte Firmware-Liste ist ungültig',
  firmware_manifest_unreachable: 'Der Firmware-Server ist nicht erreichbar',
  firmware_not_handed_over: 'Firmware ist bereit, aber das Backend nimmt sie nicht an',
  firmware_refused: 'Eine veröffentlichte Firmware ist beschädigt',
  hotspot_dns_port_taken: 'Der Hotspot kann Telefonen nicht antworten',
  hotspot_failed: 'Der Einrichtungs-Hotspot ließ sich nicht starten',
  image_damaged: 'Teile der Software der Station sind beschädigt',
  internet_unreachable: 'Kein Internet',
  network_manager_absent: 'Der Netzwerkdienst antwortet nicht',
  portal_port_taken: 'Die Seite für die WLAN-Einrichtung lässt sich nicht anzeigen',
  wifi_blocked_hard: 'WLAN ist am Gerät ausgeschaltet',
  wifi_blocked_soft: 'WLAN ist ausgeschaltet',
  wifi_country_unset: 'Für das WLAN ist kein Land eingestellt',
  wifi_credentials_not_forwarded: 'Neue Geräte kennen das WLAN noch nicht',
  wifi_no_radio: 'Es gibt keinen WLAN-Adapter',
  wifi_not_kept: 'Das WLAN konnte nicht gespeichert werden',
  wifi_state_not_writable: 'Der Zustand des WLANs lässt sich nicht speichern',
  wifi_unmanaged: 'Die Station verwaltet das WLAN nicht',
  manifest_rejected: 'Die veröffentlichte Versionsliste ist ungültig',
  manifest_unreachable: 'Der Update-Server ist nicht erreichbar',
  registry_auth_failed: 'Die Image-Registry hat die Zugangsdaten abgelehnt',
  registry_unreachable: 'Die neue Version lässt sich gerade nicht herunterladen',
  release_failing: 'Die neue Version arbeitet nicht richtig',
  rollback_unavailable: 'Die vorherige Version ist nicht mehr auf der Station',
  stack_unhealthy: 'Die Dienste bestehen die Prüfung nicht',
  state_not_writable: 'Der Agent kann seinen Zustand nicht speichern',
} as const satisfies Record<keyof typeof conditions, string>;

/** Those of the backend; unknown devices have a page of their own. The first page shows the station's own text until these are there. */
export const backendConditionTitle = {
  foreign_station_devices: 'Geräte einer anderen Station verbinden sich hier',
  device_logins_missing: 'Manche Geräte können sich nicht anmelden',
  devices_reconnecting: 'Geräte verbinden sich immer wieder neu',
  automations_broken: 'Eine Automation funktioniert nicht mehr',
  storage_full: 'Die Festplatte ist voll',
  storage_unwritable: 'Die Station kann keine Daten speichern',
  storage_low: 'Die Festplatte ist fast voll',
  backup_failed: 'Das letzte Backup ist fehlgeschlagen',
  backup_old: 'Es gibt kein aktuelles Backup',
  notifications_failing: 'Benachrichtigungen kommen nicht an',
  clock_untrusted: 'Die Uhr geht vielleicht falsch',
} as const satisfies Record<Exclude<BackendConditionId, 'unknown_devices'>, string>;

/** What the conditions of the cloud link are called in German. */
export const cloudConditionTitle = {
  cloud_rejected: 'Die Cloud akzeptiert diese Station nicht',
  cloud_key_lost: 'Die Anmeldung bei der Cloud ist verloren',
  cloud_certificate_untrusted: 'Die Cloud kann sich nicht ausweisen',
  cloud_clock_wrong: 'Die Uhr weicht zu stark ab für die Cloud',
  cloud_unreachable: 'Die Cloud ist nicht erreichbar',
  cloud_outbox_full: 'Nachrichten an die Cloud gehen verloren',
  cloud_outbox_nearly_full: 'Cloud-Warteschlange fast voll',
  cloud_dead_letters: 'Die Cloud hat einige Nachrichten abgelehnt',
} as const satisfies Readonly<Record<CloudConditionId, string>>;

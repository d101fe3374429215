import type { BackendConditionId } from './backend-conditions.ts';
import type { CloudConditionId } from './cloud-conditions.ts';
import type { conditions } from './conditions.ts';

/** What the conditions of the agent are called in Polish, on pages and in notifications. */
export const agentConditionTitle = {
  agent_open_on_network: 'Usługa aktualizacji jest otwarta na sieć',
  clock_behind: 'Zegar się spóźnia',
  disk_space_low: 'Za mało miejsca na nową wersję',
  updates_unsigned: 'Wersje nie są podpisane',
  agent_too_old: 'Najnowsza wersja wymaga nowszego agenta',
  compose_not_linked: 'Stos uruchomiony ręcznie nie użyłby tej wersji',
  compose_project_unreadable: 'Nie można odczytać plików stosu',
  engine_storage_failed: 'Silnik kontenerów nie może zapisać nowej wersji',
  engine_unreachable: 'Silnik kontenerów nie odpowiada',
  firmware_cache_not_writable: 'Nie można zapisać nowego firmware’u urządzeń',
  firmware_manifest_rejected: 'Opublikowana lista firmware’u jest nieprawidłowa',
  firmware_manifest_unreachable: 'Nie można połączyć się z serwerem firmware’u',
  firmware_not_handed_over: 'Firmware jest gotowy, ale backend go nie przyjmuje',
  firmware_refused: 'Opublikowany firmware jest uszkodzony',
  hotspot_dns_port_taken: 'Hotspot nie może odpowiadać telefonom',
  hotspot_failed: 'Nie udało się uruchomić hotspotu konfiguracyjnego',
  image_damaged: 'Części oprogramowania stacji są uszkodzone',
  internet_unreachable: 'Brak internetu',
  network_manager_absent: 'Usługa sieci nie odpowiada',
  portal_port_taken: 'Nie można pokazać strony konfiguracji Wi-Fi',
  wifi_blocked_hard: 'Wi-Fi jest wyłączone przełącznikiem',
  wifi_blocked_soft: 'Wi-Fi jest wyłączone',
  wifi_country_unset: 'Nie ustawiono kraju dla Wi-Fi',
  wifi_credentials_not_forwarded: 'Nowe urządzenia nie znają jeszcze sieci Wi-Fi',
  wifi_no_radio: 'Nie ma karty Wi-Fi',
  wifi_not_kept: 'Nie udało się zapisać sieci Wi-Fi',
  wifi_state_not_writable: 'Nie można zapisać stanu Wi-Fi',
  wifi_unmanaged: 'Stacja nie zarządza Wi-Fi',
  manifest_rejected: 'Opublikowana lista wersji jest nieprawidłowa',
  manifest_unreachable: 'Nie można połączyć się z serwerem wersji',
  registry_auth_failed: 'Rejestr obrazów odrzucił dane logowania',
  registry_unreachable: 'Nie można teraz pobrać nowej wersji',
  release_failing: 'Nowa wersja nie działa jak należy',
  rollback_unavailable: 'Poprzedniej wersji nie ma już na stacji',
  stack_unhealthy: 'Usługi nie przechodzą kontroli',
  state_not_writable: 'Agent nie może zapisać swojego stanu',
} as const satisfies Record<keyof typeof conditions, string>;

/** Those of the backend; unknown devices have a page of their own. The first page shows the station's own text until these are there. */
export const backendConditionTitle = {
  foreign_station_devices: 'Łączą się tu urządzenia innej stacji',
  device_logins_missing: 'Niektóre urządzenia nie mogą się zalogować',
  devices_reconnecting: 'Urządzenia łączą się raz po raz',
  automations_broken: 'Jedna z automatyzacji przestała działać',
  storage_full: 'Dysk jest pełny',
  storage_unwritable: 'Stacja nie może zapisywać danych',
  storage_low: 'Dysk jest prawie pełny',
  backup_failed: 'Ostatnia kopia zapasowa się nie udała',
  backup_old: 'Nie ma aktualnej kopii zapasowej',
  notifications_failing: 'Powiadomienia nie docierają',
  clock_untrusted: 'Zegar może wskazywać zły czas',
} as const satisfies Record<Exclude<BackendConditionId, 'unknown_devices'>, string>;

/** What the conditions of the cloud link are called in Polish. */
export const cloudConditionTitle = {
  cloud_rejected: 'Chmura nie przyjmuje tej stacji',
  cloud_key_lost: 'Utracono dane logowania do chmury',
  cloud_certificate_untrusted: 'Chmura nie może potwierdzić tożsamości',
  cloud_clock_wrong: 'Zegar zbyt niedokładny dla chmury',
  cloud_unreachable: 'Brak połączenia z chmurą',
  cloud_outbox_full: 'Wiadomości dla chmury przepadają',
  cloud_outbox_nearly_full: 'Kolejka do chmury prawie pełna',
  cloud_dead_letters: 'Chmura odrzuciła część wiadomości',
} as const satisfies Readonly<Record<CloudConditionId, string>>;

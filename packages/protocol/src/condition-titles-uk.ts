import type { CloudConditionId } from './cloud-conditions.ts';
import type { BackendConditionId } from './backend-conditions.ts';
import type { conditions } from './conditions.ts';

/** What the conditions of the agent are called in Ukrainian, on pages and in notifications. */
export const agentConditionTitle = {
  agent_open_on_network: 'Служба оновлень відкрита для мережі',
  clock_behind: 'Годинник відстає',
  disk_space_low: 'Бракує місця для нового випуску',
  updates_unsigned: 'Випуски не підписано',
  agent_too_old: 'Новому випуску потрібен новіший агент',
  compose_not_linked: 'Набір служб, запущений вручну, матиме інший випуск',
  compose_project_unreadable: 'Файли набору служб не вдається прочитати',
  engine_storage_failed: 'Рушій контейнерів не може зберегти новий випуск',
  engine_unreachable: 'Рушій контейнерів не відповідає',
  firmware_cache_not_writable: 'Нову прошивку для пристроїв ніде зберегти',
  firmware_manifest_rejected: 'Опублікований перелік прошивок непридатний',
  firmware_manifest_unreachable: 'Сервер прошивок недоступний',
  firmware_not_handed_over: 'Прошивка готова, але сервер станції її не приймає',
  firmware_refused: 'Опублікована прошивка пошкоджена',
  hotspot_dns_port_taken: 'Точка доступу не може відповідати телефонам',
  hotspot_failed: 'Не вдалося ввімкнути точку доступу для налаштування',
  image_damaged: 'Частини програм станції пошкоджено',
  internet_unreachable: 'Немає інтернету',
  network_manager_absent: 'Служба мережі не відповідає',
  portal_port_taken: 'Сторінку налаштування Wi-Fi не можна показати',
  wifi_blocked_hard: 'Wi-Fi вимкнено на пристрої',
  wifi_blocked_soft: 'Wi-Fi вимкнено',
  wifi_country_unset: 'Для Wi-Fi не задано країну',
  wifi_credentials_not_forwarded: 'Нові пристрої ще не знають Wi-Fi',
  wifi_no_radio: 'Немає адаптера Wi-Fi',
  wifi_not_kept: 'Не вдалося зберегти мережу Wi-Fi',
  wifi_state_not_writable: 'Не вдається зберегти стан Wi-Fi',
  wifi_unmanaged: 'Станція не керує Wi-Fi',
  manifest_rejected: 'Опублікований перелік випусків непридатний',
  manifest_unreachable: 'Сервер випусків недоступний',
  registry_auth_failed: 'Реєстр образів відхилив облікові дані',
  registry_unreachable: 'Новий випуск зараз не вдається завантажити',
  release_failing: 'Новий випуск працює не так, як слід',
  rollback_unavailable: 'Попереднього випуску вже немає на станції',
  stack_unhealthy: 'Служби не проходять перевірку справності',
  state_not_writable: 'Агент не може зберегти свій стан',
} as const satisfies Record<keyof typeof conditions, string>;

/** Those of the backend; unknown devices have a page of their own. The first page shows the station's own text until these are there. */
export const backendConditionTitle = {
  foreign_station_devices: 'Сюди приєднуються пристрої іншої станції',
  device_logins_missing: 'Деякі пристрої не можуть увійти',
  devices_reconnecting: 'Пристрої знову й знову під’єднуються',
  automations_broken: 'Автоматизація більше не працює',
  storage_full: 'Диск заповнено',
  storage_unwritable: 'Станція не може зберігати дані',
  storage_low: 'На диску майже немає місця',
  backup_failed: 'Остання резервна копія не вдалася',
  backup_old: 'Немає свіжої резервної копії',
  notifications_failing: 'Сповіщення не надходять',
  clock_untrusted: 'Годинник може бути неточним',
} as const satisfies Record<Exclude<BackendConditionId, 'unknown_devices'>, string>;

/** Those of the cloud link. */
export const cloudConditionTitle = {
  cloud_rejected: 'Хмара не приймає цю станцію',
  cloud_key_lost: 'Вхід до хмари втрачено',
  cloud_certificate_untrusted: 'Хмара не може довести, хто вона',
  cloud_clock_wrong: 'Годинник надто неточний для хмари',
  cloud_unreachable: 'Хмара недосяжна',
  cloud_outbox_full: 'Повідомлення для хмари губляться',
  cloud_outbox_nearly_full: 'Черга до хмари майже заповнена',
  cloud_dead_letters: 'Хмара відхилила деякі повідомлення',
} as const satisfies Record<CloudConditionId, string>;

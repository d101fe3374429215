import { Type, type TObject, type TSchema } from 'typebox';

/**
 * Catalogue of the backend's log events: one JSON object a line with `time`, `level`, `event` and the fields below
 * (contracts, section 6, for the form). Requests are logged as `request` at level debug.
 */

const text = Type.String();
const maybeText = Type.Union([Type.String(), Type.Null()]);
const count = Type.Number();

type Level = 'debug' | 'info' | 'warn' | 'error';
const event = <F extends Record<string, TSchema>>(level: Level, fields: F): { level: Level; fields: TObject<F> } => ({
  level,
  fields: Type.Object(fields),
});

/** Why a client of the embedded broker was refused before its log-in. */
const connectionRefusals = [
  'protocol_version',
  'client_id',
  'too_large',
  'too_many_connections',
  'too_much',
  'tls_failed',
  'timeout',
  'unreadable',
  'unavailable',
] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

/** What is wrong with the user name or the password. */
const loginRefusals = ['no_login', 'unknown_name', 'wrong_password'] as const;
export type LoginRefusal = (typeof loginRefusals)[number];

/** The client as it names itself, cut to what cannot be a token; `protocol`: "MQTT 5". */
const mqttClient = { clientId: maybeText, protocol: maybeText, address: text, help: text };

export const backendEvents = {
  config_invalid: event('error', { problems: Type.Array(text) }),
  backend_started: event('info', { version: text, address: text, startMs: Type.Number() }),
  backend_stopping: event('info', { signal: text }),
  backend_start_failed: event('error', { message: text }),
  backend_waits_for_storage: event('error', { reason: text }),
  unexpected_error: event('error', { where: text, message: text }),
  request: event('debug', { requestId: text, method: text, url: text, statusCode: count, durationMs: Type.Number() }),
  request_failed: event('error', { requestId: text, method: text, url: text, message: text, stack: maybeText }),

  database_migrated: event('info', { migrations: Type.Array(text) }),
  database_newer: event('warn', { unknownMigrations: Type.Array(text) }),
  database_copied: event('info', { copy: text, reason: text }),
  database_copy_failed: event('warn', { reason: text, message: text }),
  database_damaged: event('error', { file: text, reason: text }),
  database_restored: event('error', { damaged: text, copy: text, copyTakenAt: text }),
  database_started_empty: event('error', { damaged: text, reason: text }),

  backup_work_ended: event('info', { work: text, bytes: count, seconds: Type.Number() }),
  backup_work_refused: event('warn', { work: text, reason: text, message: maybeText }),
  restore_applied: event('warn', { stationId: text, createdAt: text, version: text }),
  restore_confirmed: event('info', { stationId: text, createdAt: text, version: text }),
  restore_undone: event('error', { stationId: text, createdAt: text, version: text, starts: count }),
  restore_parts_applied: event('warn', { stationId: text, createdAt: text, version: text, parts: Type.Array(text) }),
  agent_part_waits: event('warn', { reason: text, retryInMs: Type.Number() }),
  agent_part_returned: event('info', { networks: count, broker: Type.Boolean(), missing: Type.Array(text) }),
  clock_untrusted: event('warn', { stationTimeMs: count, wallMs: count }),
  clock_corrected: event('info', { stepMs: count, trusted: Type.Boolean(), by: text }),
  history_corrected: event('info', { fromMs: count, stepMs: count }),

  setup_pending: event('info', { message: text }),
  setup_done: event('info', { userId: text }),
  guest_ended: event('info', { userId: text }),
  login_failed: event('warn', { address: text, reason: text }),
  login_limited: event('warn', { address: text, retryAfterSeconds: count }),
  refresh_token_reused: event('warn', { userId: text, sessionId: text }),

  auto_update_requested: event('warn', { userId: text, autoUpdate: Type.Union([Type.Boolean(), Type.Null()]) }),
  network_join_requested: event('warn', { userId: text }),
  service_restart_requested: event('warn', { userId: text, service: text }),
  machine_restart_requested: event('warn', { userId: text }),

  agent_link_up: event('info', {}),
  agent_link_down: event('warn', { reason: text, retryInMs: Type.Number() }),
  mqtt_listening: event('info', { address: text }),
  mqtt_connected: event('info', { broker: text }),
  mqtt_disconnected: event('warn', { broker: text, reason: text }),
  mqtt_connection_refused: event('warn', {
    reason: Type.Enum([...connectionRefusals]),
    count,
    login: maybeText,
    ...mqttClient,
  }),
  mqtt_login_refused: event('warn', {
    reason: Type.Enum([...loginRefusals]),
    count,
    externalId: text,
    ...mqttClient,
  }),
  mqtt_logins_kept: event('info', { by: Type.Enum(['station', 'others']) }),
  consumer_message_refused: event('warn', { consumer: text, reason: text, count, topic: text }),
  mqtt_message_dropped: event('warn', { reason: text, count, topic: text }),
  device_type_differs: event('warn', { externalId: text, type: text, reportedType: text }),
  device_type_added: event('info', { type: text, source: text }),
  device_type_refused: event('warn', { source: text, reason: text }),
  device_removed: event('info', { externalId: text, told: Type.Boolean() }),
  device_login_ended: event('info', { externalId: text, ended: text }),
  unknown_device_accepted: event('info', { externalId: text }),
  condition_raised: event('warn', { condition: text, severity: text, message: text }),
  condition_cleared: event('info', { condition: text }),
  devices_wifi_started: event('info', { devices: count }),
  devices_wifi_ended: event('info', {
    state: text,
    followed: count,
    notFollowed: count,
    notTold: count,
    offline: count,
  }),
  ble_helper_started: event('info', {}),
  ble_helper_stopped: event('info', {}),
  ble_helper_failed: event('warn', { how: text, retryInMs: Type.Number() }),
  ble_helper_killed: event('warn', { reason: text }),
  ble_helper_line_ignored: event('warn', { reason: text, text, count }),
  ble_helper_note: event('info', { message: text, count }),
  ble_radio: event('info', { state: text }),
  provisioning_started: event('info', { provisioningId: text, externalId: text, method: text }),
  provisioning_ended: event('info', {
    provisioningId: text,
    externalId: text,
    method: text,
    status: text,
    error: maybeText,
    durationMs: Type.Number(),
  }),
  devices_imported: event('info', { count }),
  cloud_link_up: event('info', { host: text }),
  cloud_link_down: event('warn', { host: text, reason: text, retryInMs: Type.Number() }),
  cloud_rejected: event('error', { host: text, reason: text, retryInMs: Type.Number() }),
  cloud_claimed: event('info', { host: text }),
  cloud_unclaimed: event('info', { reason: text }),
  cloud_identity_refused: event('warn', { type: text, reason: text }),
  cloud_message_ignored: event('warn', { reason: text, count }),
  cloud_dead_letter: event('error', { seq: count, reason: text }),
  cloud_dead_letters_resent: event('info', { count, userId: text }),
  cloud_condition_raised: event('warn', { condition: text, severity: text }),
  cloud_condition_cleared: event('info', { condition: text }),
  cloud_outbox_full: event('error', { dropped: count }),
  history_dropped: event('info', { bytes: count }),
  storage_over_budget: event('warn', { bytes: count }),
  cloud_station_reset: event('warn', { phase: text, devices: count, reached: count }),
  automation_skipped: event('warn', { automationId: text, reason: text }),
  socket_client_dropped: event('warn', { reason: text }),

  replica_leads: event('info', { replicaId: text, term: count }),
  replica_leads_no_more: event('warn', { replicaId: text }),
  replica_cut_off: event('warn', { replicaId: text, reason: text }),
  replica_caught_up: event('info', { replicaId: text }),
  replica_session_taken_over: event('warn', { replicaId: text }),
  mqtt_session_ended: event('info', { clientId: text }),
  replica_retired: event('info', { replicaId: text }),

  notification_sent: event('info', { id: text, channel: text, kind: text, attempt: count }),
  notification_failed: event('warn', { id: text, channel: text, reason: text, attempt: count, retryInMs: count }),
  /** It was not sent for a day, or too many wait. */
  notification_dropped: event('warn', { channel: text, count, reason: text }),
} as const;

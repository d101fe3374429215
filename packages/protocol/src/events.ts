import { Type, type Static, type TObject, type TSchema } from 'typebox';

/**
 * Catalogue of the agent's log events: one JSON object a line with `time`, `level`, `event` and the fields below
 * (specification, "Agent log events"; contracts, section 6). The same objects go to `GET /events`.
 */

const text = Type.String();
const maybeText = Type.Union([Type.String(), Type.Null()]);
const ms = Type.Number();
const maybeMs = Type.Union([Type.Number(), Type.Null()]);
const bytes = Type.Number();
const images = Type.Record(Type.String(), Type.String());

type Level = 'debug' | 'info' | 'warn' | 'error';
const event = <F extends Record<string, TSchema>>(level: Level, fields: F): { level: Level; fields: TObject<F> } => ({
  level,
  fields: Type.Object(fields),
});

const firmware = { name: text, version: text };

export const events = {
  agent_started: event('info', { agentVersion: text, bootId: text }),
  agent_stopping: event('info', { signal: text }),
  agent_ready: event('info', { addresses: Type.Array(text) }),
  certificate_issued: event('info', { server: text, names: Type.Array(text), validUntil: text }),
  certificate_failed: event('error', { reason: text }),
  authority_renewed: event('warn', { validUntil: text }),
  clock_set: event('info', { before: text, now: text }),
  api_available: event('info', { address: text }),
  api_unavailable: event('warn', { address: text, reason: text, retryInMs: ms }),
  config_invalid: event('error', { problems: Type.Array(text) }),
  config_warning: event('warn', { problem: text }),
  condition_raised: event('warn', { condition: text, severity: text, message: text }),
  condition_cleared: event('info', { condition: text }),
  state_repaired: event('warn', { file: text, reason: text }),
  unexpected_error: event('error', { where: text, message: text }),

  manifest_rejected: event('warn', { reason: text }),
  /** A signed manifest named the key that will sign later ones; `version` is the manifest's. */
  update_key_learned: event('info', { keyId: text, version: text }),
  manifest_check_failed: event('warn', { reason: text, retryInMs: maybeMs }),
  /** A person chose; null: took the choice back. `autoUpdate`: what counts now. */
  auto_update_changed: event('info', { choice: Type.Union([Type.Boolean(), Type.Null()]), autoUpdate: Type.Boolean() }),
  update_available: event('info', { currentVersion: maybeText, latestVersion: text }),
  update_deferred: event('info', { latestVersion: text, reason: text }),
  update_start: event('info', { currentVersion: maybeText, requestedVersion: maybeText, images, trigger: text }),
  /** Services that the release names and this station does not run. */
  release_services_ignored: event('info', { version: maybeText, services: Type.Array(text) }),
  update_phase: event('info', { operationId: text, kind: text, phase: text, version: maybeText }),
  update_completed: event('info', { currentVersion: maybeText, durationMs: ms, downtimeMs: maybeMs }),
  update_failed: event('error', { code: text, reason: text, version: maybeText }),
  update_retry: event('warn', { code: text, reason: text, attempt: Type.Number() }),
  engine_failed: event('warn', { step: text, detail: text }),
  /** Docker held a port for a container that is gone, as a power cut can leave it. */
  engine_restarted: event('warn', { reason: text, restarted: Type.Boolean() }),
  /** What a power cut left damaged in Docker's storage was removed: `images` by name or id, `layers` that no image had. */
  engine_storage_repaired: event('warn', { images: Type.Array(text), layers: Type.Number() }),
  /** Docker Compose cannot read the files of the stack. The message contains no values that may be secrets. */
  compose_project_unreadable: event('error', { reason: text }),
  docker_pull: event('info', {
    service: text,
    image: text,
    doneBytes: bytes,
    totalBytes: Type.Union([bytes, Type.Null()]),
  }),
  docker_restart: event('info', { services: Type.Array(text) }),
  healthcheck_passed: event('info', { status: maybeMs, attempts: Type.Number(), durationMs: ms, reason: maybeText }),
  healthcheck_failed: event('warn', { status: maybeMs, attempts: Type.Number(), durationMs: ms, reason: maybeText }),
  rollback_started: event('warn', { from: maybeText, to: maybeText, reason: text }),
  rollback_completed: event('info', { currentVersion: maybeText, durationMs: ms, downtimeMs: maybeMs }),
  rollback_failed: event('error', { from: maybeText, to: maybeText, reason: text }),
  bootstrap_start: event('info', { currentVersion: maybeText, reason: text }),
  bootstrap_done: event('info', { currentVersion: maybeText, durationMs: ms }),
  release_quarantined: event('warn', { version: text, reason: text }),
  /** Damaged on disk: their files differ from what their registry delivered. */
  images_damaged: event('warn', { images: Type.Array(text) }),
  /** A damaged image was made again from the layers on this `disk`, or pulled from its `registry`. */
  image_healed: event('warn', { image: text, from: text }),
  images_not_healed: event('error', { images: Type.Array(text), reason: text }),
  image_removed: event('info', { image: text }),
  stack_adopted: event('info', { currentVersion: maybeText, images }),

  /** `bytes`: size of the whole file, 0 when unknown. `doneBytes`: bytes that an earlier attempt has fetched. */
  firmware_download_start: event('info', { ...firmware, bytes, doneBytes: bytes, attempt: Type.Number() }),
  firmware_download_done: event('info', { ...firmware, bytes }),
  firmware_update_available: event('info', firmware),
  firmware_ready: event('info', firmware),
  firmware_old_removed: event('info', firmware),
  firmware_check_retry: event('warn', { attempt: Type.Number(), retryInMs: ms, reason: text }),
  firmware_check_failed: event('warn', { reason: text }),
  firmware_download_failed: event('warn', {
    ...firmware,
    doneBytes: bytes,
    attempt: Type.Number(),
    retryInMs: ms,
    reason: text,
  }),
  /** An entry of the manifest, or its image, is not valid; no device gets it. */
  firmware_refused: event('warn', { name: text, version: maybeText, reason: text }),
  firmware_handed_over: event('info', firmware),
  firmware_hand_over_failed: event('warn', { attempt: Type.Number(), retryInMs: ms, reason: text }),

  /** Network names are text for people; bytes that are not UTF-8 appear as \xNN. */
  wifi_state: event('info', { from: text, to: text, reason: text }),
  /** The agent tried the known networks. `failure` is null when it joined one. */
  wifi_attempt: event('info', { attempt: Type.Number(), failure: maybeText, detail: maybeText }),
  hotspot_started: event('info', { ssid: text, address: text }),
  hotspot_stopped: event('info', { ssid: text }),
  hotspot_failed: event('warn', { reason: text, detail: text }),
  service_restarted: event('info', { service: text }),
  service_restart_failed: event('error', { service: text, reason: text }),
  machine_restart: event('warn', {}),
  wifi_join_started: event('info', { ssid: text }),
  wifi_join_failed: event('warn', { ssid: text, failure: text, detail: text }),
  wifi_joined: event('info', { ssid: text, ip: text }),
  /** A joined network is not written to disk yet; it would be lost at a restart. */
  wifi_not_kept: event('warn', { ssid: text }),
  credentials_forwarded: event('info', { ssid: text }),
  credentials_forward_failed: event('warn', { attempt: Type.Number(), retryInMs: ms, reason: text }),

  portal_opened: event('info', { address: text }),
  /** The agent made the code that the page of an open hotspot asks for, because STATION_CODE is not set. */
  portal_code_made: event('info', { message: text }),
  /** The page got a wrong code. From the fifth on, the next one counts only after `retryInMs`. */
  portal_code_refused: event('warn', { wrongCodes: Type.Number(), retryInMs: ms }),
  /** Logged once for each reason. The agent retries automatically. */
  portal_unavailable: event('warn', { address: text, reason: text }),
} as const;

export type EventName = keyof typeof events;
type EventFields<N extends EventName> = Static<(typeof events)[N]['fields']>;

/** One event as it is written and streamed. */
export type AgentEvent = { [N in EventName]: { time: string; level: Level; event: N } & EventFields<N> }[EventName];

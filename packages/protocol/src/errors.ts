import { Type, type Static } from 'typebox';

/**
 * Every error code that leaves the agent or the backend, with the HTTP status it maps to.
 * A code is stable; clients decide by it. The message is for people (contracts, section 0).
 */
export const errorCodes = {
  bad_request: 400,
  validation_failed: 400,
  version_invalid: 400,
  /** `details.reason` is a `WifiPasswordProblem`. */
  wifi_password_invalid: 400,
  unauthorized: 401,
  invalid_credentials: 401,
  passkey_unknown: 401,
  session_expired: 401,
  forbidden: 403,
  access_ended: 403,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  setup_code_invalid: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  channel_not_set: 409,
  device_offline: 409,
  update_in_progress: 409,
  nothing_to_roll_back: 409,
  clock_not_set: 409,
  setup_already_done: 409,
  /** A backup is being restored to a station without an owner. */
  restore_in_progress: 409,
  no_wifi_credentials: 409,
  candidate_ambiguous: 409,
  passkeys_unavailable: 409,
  payload_too_large: 413,
  command_too_large: 413,
  unsupported_media_type: 415,
  host_unknown: 421,
  version_not_derivable: 422,
  version_not_signed: 422,
  automation_invalid: 422,
  /** The history of a value has more transitions in this range than a read may take. */
  too_many_changes: 422,
  passkey_invalid: 422,
  /** `details.reason` is a `BackupRefusal`. */
  backup_refused: 422,
  too_many_requests: 429,
  internal: 500,
  update_failed: 500,
  update_rolled_back: 500,
  rollback_failed: 500,
  agent_unreachable: 502,
  /** The agent is of an earlier release and cannot do this yet. */
  agent_too_old: 502,
  manifest_unavailable: 502,
  manifest_rejected: 502,
  registry_unavailable: 502,
  registry_busy: 503,
  registry_auth_failed: 502,
  image_missing: 502,
  compose_project_unreadable: 503,
  shutting_down: 503,
  storage_full: 503,
  storage_unwritable: 503,
  storage_locked: 503,
  busy: 503,
  unavailable: 503,
  disk_space_low: 507,
  engine_storage_failed: 507,
  image_damaged: 507,
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** The error body of agent and backend (contracts, section 0). */
export const ErrorBody = Type.Object({
  statusCode: Type.Integer(),
  error: Type.String({ description: 'Reason phrase of the status.' }),
  code: Type.String({ description: 'Stable code, one of the catalogue.' }),
  message: Type.String({ description: 'For people; never a secret, a stack trace or a host path.' }),
  details: Type.Optional(Type.Unknown()),
});
export type ErrorBody = Static<typeof ErrorBody>;

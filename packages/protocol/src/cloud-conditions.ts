/**
 * Catalogue of the conditions of the cloud link, as GET /api/cloud/status reports them: what is wrong, then what helps.
 * Facts raise and clear them. The conditions of the agent are in `conditions.ts`.
 */
export const cloudConditions = {
  cloud_rejected: {
    severity: 'fault',
    message:
      'The cloud does not accept the log-in of this station. The station retries with growing delays. If it was removed there, disconnect it here and claim it again.',
  },
  cloud_key_lost: {
    severity: 'fault',
    message: 'The key that encrypts the log-in for the cloud is missing. Claim the station again.',
  },
  cloud_certificate_untrusted: {
    severity: 'fault',
    message:
      'The server at CLOUD_HOST has no trusted certificate, so nothing is sent to it. Check CLOUD_HOST, CLOUD_CA_FILE and CLOUD_TLS_PINS, and whether something in the network intercepts connections.',
  },
  cloud_clock_wrong: {
    severity: 'warning',
    message:
      'The certificate of the cloud is not valid yet by the clock of this station; the clock is probably behind. Set it; the link then connects automatically.',
  },
  cloud_unreachable: {
    severity: 'warning',
    message: 'The cloud cannot be reached. The station retries automatically; events wait on disk.',
  },
  cloud_outbox_full: {
    severity: 'fault',
    message:
      'The outbox for the cloud is full; the oldest messages are dropped. Check the link, or raise CLOUD_OUTBOX_MAX_MB.',
  },
  cloud_outbox_nearly_full: {
    severity: 'warning',
    message: 'The outbox for the cloud is nearly full. Beyond CLOUD_OUTBOX_MAX_MB the oldest messages are dropped.',
  },
  cloud_dead_letters: {
    severity: 'warning',
    message:
      'The cloud closed the link each time it received certain messages. They are kept as dead letters and can be sent again.',
  },
} as const satisfies Record<string, { severity: 'info' | 'warning' | 'fault'; message: string }>;

export type CloudConditionId = keyof typeof cloudConditions;

/**
 * Catalogue of what can be wrong with the cloud link, as GET /api/cloud/status tells it: what stands now and what helps. Raised and
 * cleared by facts, never by hand. The conditions of the agent are in `conditions.ts`.
 */
export const cloudConditions = {
  cloud_rejected: {
    severity: 'fault',
    message:
      'The cloud does not accept the log-in of this station. It is tried again ever more seldom. If the station was removed there, disconnect it here and claim it again.',
  },
  cloud_key_lost: {
    severity: 'fault',
    message: 'The key that the log-in for the cloud was kept with is gone. Claim the station again.',
  },
  cloud_certificate_untrusted: {
    severity: 'fault',
    message:
      'Whoever answers for the cloud cannot prove to be it, so nothing is said to them. Check CLOUD_HOST, CLOUD_CA_FILE and CLOUD_TLS_PINS, and whether something in the network intercepts connections.',
  },
  cloud_clock_wrong: {
    severity: 'warning',
    message:
      'By the clock of this station the certificate of the cloud is not valid yet: the clock is most likely behind. The link comes by itself once it is set.',
  },
  cloud_unreachable: {
    severity: 'warning',
    message: 'The cloud has not been reached for a while. It is tried again by itself; events wait on the disk.',
  },
  cloud_outbox_full: {
    severity: 'fault',
    message: 'As much waits for the cloud as may wait. The oldest is dropped for what happens now.',
  },
  cloud_outbox_nearly_full: {
    severity: 'warning',
    message: 'Much waits for the cloud. Beyond CLOUD_OUTBOX_MAX_MB the oldest is dropped.',
  },
  cloud_messages_set_aside: {
    severity: 'warning',
    message:
      'The cloud ended the link at some messages, each time it got them. They were put aside and can be sent again.',
  },
} as const satisfies Record<string, { severity: 'info' | 'warning' | 'fault'; message: string }>;

export type CloudConditionId = keyof typeof cloudConditions;

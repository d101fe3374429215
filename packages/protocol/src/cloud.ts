import { Type, type Static } from 'typebox';
import { cloudConditions, type CloudConditionId } from './cloud-conditions.ts';
import { Nullable } from './nullable.ts';
import { Time } from './rest.ts';

/** The cloud link as people of the station see it (contracts, sections 9, 10 and 12). */

/** Channels of notifications that the cloud can switch on and off (`station.setActiveChannels`). */
export const eventChannels = [
  'state',
  'status',
  'events',
  'commands',
  'lifecycle',
  'automations',
  'firmware',
  'system',
] as const;
export const EventChannel = Type.Enum([...eventChannels]);
export type EventChannel = Static<typeof EventChannel>;

/**
 * - `disabled`: no CLOUD_HOST
 * - `unclaimed`: nobody has claimed the station yet; `lastError` says whether the cloud can be reached
 * - `connecting`, `authenticated`
 * - `offline`: the cloud cannot be reached; next attempt at `nextAttemptAt`
 * - `rejected`: the cloud does not accept the station's token; retried with growing delays
 */
export const cloudStates = ['disabled', 'unclaimed', 'connecting', 'authenticated', 'offline', 'rejected'] as const;
export type CloudState = (typeof cloudStates)[number];

/** A condition of the link; the catalogue is in `cloud-conditions.ts`. */
export const CloudCondition = Type.Object({
  id: Type.Enum(Object.keys(cloudConditions) as CloudConditionId[]),
  severity: Type.Enum(['info', 'warning', 'fault']),
  message: Type.String({ description: 'In English, with what helps.' }),
  since: Time,
});
export type CloudCondition = Static<typeof CloudCondition>;

export const CloudStatus = Type.Object({
  state: Type.Enum([...cloudStates]),
  host: Nullable(Type.String()),
  isHeldHere: Type.Boolean({
    description: 'False: another replica holds the link, and this one does not know its state.',
  }),
  connectedSince: Nullable(Type.String({ description: 'Since when it is authenticated.' })),
  claimedAt: Nullable(Time),
  lastHeardAt: Nullable(Time, 'Time of the last message from the cloud since the backend was started.'),
  lastError: Nullable(Type.String({ description: 'Why the link is down, in English.' })),
  nextAttemptAt: Nullable(Time),
  activeChannels: Type.Array(EventChannel),
  outbox: Type.Object({
    pending: Type.Integer({ description: 'Messages that the cloud has not acknowledged; an estimate above 10,000.' }),
    oldestAt: Nullable(Time),
    bytes: Type.Integer({ description: 'An estimate.' }),
    maxBytes: Type.Integer({ description: 'Above this size the oldest messages are dropped (CLOUD_OUTBOX_MAX_MB).' }),
    dropped: Type.Integer({
      description: 'Messages dropped for lack of space since the station was claimed, dead letters included.',
    }),
    deadLetters: Type.Integer({ description: 'Dead letters: messages at which the cloud closed the link each time.' }),
  }),
  conditions: Type.Array(CloudCondition),
  askedAt: Nullable(Time, 'Time of the last call of the cloud (GET /api/cloud/activity).'),
});
export type CloudStatus = Static<typeof CloudStatus>;

/**
 * GET /api/cloud/claim (station role owner, or the owner before the cloud named another): the code that proves access to the station when
 * somebody claims it. Errors: 409 conflict when there is no cloud or the station is claimed.
 * POST /api/cloud/unclaim (same roles) → 204: forgets the cloud and makes a new secret.
 */
export const CloudClaim = Type.Object({
  chipId: Type.String(),
  claimSecret: Type.String(),
  uri: Type.String({ description: 'Page of the cloud where a person claims the station with these two values.' }),
});
export type CloudClaim = Static<typeof CloudClaim>;

/** Content of the QR code of an unclaimed station (contracts, section 12). */
export const claimCodeOf = ({ chipId, claimSecret }: Pick<CloudClaim, 'chipId' | 'claimSecret'>): string =>
  JSON.stringify({ chipId, claimSecret });

/**
 * GET /api/cloud/dead-letters (station role owner or admin) → CloudDeadLetter[], newest first, at most 100. Errors: 409 conflict when there is no cloud.
 * POST /api/cloud/dead-letters/send (no body; station role owner or admin) → 200 SentAgain: queues all dead letters again, behind the waiting
 * messages. A message at which the cloud still closes the link becomes a dead letter again.
 */
export const CloudDeadLetter = Type.Object({
  seq: Type.Integer(),
  channel: EventChannel,
  reason: Type.String({ description: 'In English.' }),
  at: Time,
});
export type CloudDeadLetter = Static<typeof CloudDeadLetter>;
export const CloudDeadLetters = Type.Array(CloudDeadLetter);
export const SentAgain = Type.Object({ count: Type.Integer() });
export type SentAgain = Static<typeof SentAgain>;

/** Sent on /ws at each change and after `hello`. */
export const CloudStatusMessage = Type.Object({ type: Type.Literal('cloud_status'), at: Time, status: CloudStatus });
export type CloudStatusMessage = Static<typeof CloudStatusMessage>;

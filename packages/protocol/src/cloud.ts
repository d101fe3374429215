import { Type, type Static, type TSchema } from 'typebox';
import { cloudConditions, type CloudConditionId } from './cloud-conditions.ts';
import { Time } from './rest.ts';

/** The cloud link as people of the station see it (contracts, sections 9, 10 and 12). */

const Nullable = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** What the cloud can ask to be told of, or not (`station.setActiveChannels`). */
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
 * - `unclaimed`: nobody has claimed the station yet; `lastError` tells whether the cloud can be reached
 * - `connecting`, `authenticated`
 * - `offline`: the cloud is not reached; tried again at `nextAttemptAt`
 * - `rejected`: the cloud does not accept the station's token; tried again ever more seldom
 */
export const cloudStates = ['disabled', 'unclaimed', 'connecting', 'authenticated', 'offline', 'rejected'] as const;
export type CloudState = (typeof cloudStates)[number];

/** What is wrong with the link now; the catalogue is in `cloud-conditions.ts`. */
export const CloudCondition = Type.Object({
  id: Type.Enum(Object.keys(cloudConditions) as CloudConditionId[]),
  severity: Type.Enum(['info', 'warning', 'fault']),
  message: Type.String({ description: 'In English, with what helps.' }),
  since: Time,
});
export type CloudCondition = Static<typeof CloudCondition>;

/** GET /api/cloud/status (user). */
export const CloudStatus = Type.Object({
  state: Type.Enum([...cloudStates]),
  host: Nullable(Type.String()),
  isHeldHere: Type.Boolean({
    description: 'False: another backend of this station holds the link, and this one does not know how it is.',
  }),
  connectedSince: Nullable(Type.String({ description: 'Since when it is authenticated.' })),
  claimedAt: Nullable(Time),
  lastHeardAt: Nullable(Time, 'When the cloud was heard last, since the backend was started.'),
  lastError: Nullable(Type.String({ description: 'Why the link is not up, in English.' })),
  nextAttemptAt: Nullable(Time),
  activeChannels: Type.Array(EventChannel),
  outbox: Type.Object({
    pending: Type.Integer({ description: 'Messages that the cloud has not acknowledged. Above 10,000 an estimate.' }),
    oldestAt: Nullable(Time),
    bytes: Type.Integer({ description: 'An estimate.' }),
    maxBytes: Type.Integer({ description: 'Beyond it the oldest is dropped (CLOUD_OUTBOX_MAX_MB).' }),
    dropped: Type.Integer({
      description: 'Lost for want of room, waiting or set aside, since the station was claimed.',
    }),
    setAside: Type.Integer({ description: 'Put aside because the cloud ended the link at each of them.' }),
  }),
  conditions: Type.Array(CloudCondition),
  askedAt: Nullable(Time, 'When the cloud asked for something last (GET /api/cloud/activity).'),
});
export type CloudStatus = Static<typeof CloudStatus>;

/**
 * GET /api/cloud/claim (station role owner, or who was it before the cloud named another): what the person who claims the station proves that they stand before it with. Errors: 409
 * conflict when there is no cloud or the station is claimed.
 * POST /api/cloud/unclaim (the same) → 204: forgets the cloud. The station shows a new secret from then on.
 */
export const CloudClaim = Type.Object({
  chipId: Type.String(),
  claimSecret: Type.String(),
  uri: Type.String({ description: 'Both of them and the cloud, to be shown as a QR code.' }),
});
export type CloudClaim = Static<typeof CloudClaim>;

/**
 * GET /api/cloud/set-aside (station role owner or admin) → CloudSetAside[], newest first, at most 100. Errors: 409 conflict when there is no cloud.
 * POST /api/cloud/set-aside/send (no body; station role owner or admin) → 200 SentAgain: puts all of them back behind what waits. One at which the
 * cloud still ends the link is put aside once more.
 */
export const CloudSetAside = Type.Object({
  seq: Type.Integer(),
  channel: EventChannel,
  reason: Type.String({ description: 'In English.' }),
  at: Time,
});
export type CloudSetAside = Static<typeof CloudSetAside>;
export const CloudSetAsides = Type.Array(CloudSetAside);
export const SentAgain = Type.Object({ count: Type.Integer() });
export type SentAgain = Static<typeof SentAgain>;

/** On /ws, at each change and after `hello`. */
export const CloudStatusMessage = Type.Object({ type: Type.Literal('cloud_status'), at: Time, status: CloudStatus });
export type CloudStatusMessage = Static<typeof CloudStatusMessage>;

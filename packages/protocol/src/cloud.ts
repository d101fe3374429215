import { Type, type Static, type TSchema } from 'typebox';
import { Time } from './rest.ts';

/** The cloud link as people of the station see it (contracts, sections 9, 10 and 12). */

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

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

/** GET /api/cloud/status (user). */
export const CloudStatus = Type.Object({
  state: Type.Enum([...cloudStates]),
  host: Nullable(Type.String()),
  connectedSince: Nullable(Type.String({ description: 'Since when it is authenticated.' })),
  claimedAt: Nullable(Time),
  lastError: Nullable(Type.String({ description: 'Why the link is not up, in English.' })),
  nextAttemptAt: Nullable(Time),
  activeChannels: Type.Array(EventChannel),
  outbox: Type.Object({
    pending: Type.Integer({ description: 'Messages that the cloud has not acknowledged. Above 10,000 an estimate.' }),
    oldestAt: Nullable(Time),
    dropped: Type.Integer({ description: 'Lost because the outbox was full, since the station was claimed.' }),
    setAside: Type.Integer({ description: 'Put aside because the cloud ended the link at each of them.' }),
  }),
});
export type CloudStatus = Static<typeof CloudStatus>;

/**
 * GET /api/cloud/claim (station role owner or admin): what the person who claims the station proves that they stand before it with. Errors: 409
 * conflict when there is no cloud or the station is claimed.
 * POST /api/cloud/unclaim (station role owner) → 204: forgets the cloud. The station shows a new secret from then on.
 */
export const CloudClaim = Type.Object({
  chipId: Type.String(),
  claimSecret: Type.String(),
  uri: Type.String({ description: 'Both of them and the cloud, to be shown as a QR code.' }),
});
export type CloudClaim = Static<typeof CloudClaim>;

/** On /ws, at each change and after `hello`. */
export const CloudStatusMessage = Type.Object({ type: Type.Literal('cloud_status'), at: Time, status: CloudStatus });
export type CloudStatusMessage = Static<typeof CloudStatusMessage>;

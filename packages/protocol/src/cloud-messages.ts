import { Type, type Static } from 'typebox';

/**
 * Legacy messages of the cloud link: login, identities, acknowledgements (specification, "Cloud legacy messages"; contracts,
 * section 12). One JSON object per text frame; `type` distinguishes them from JSON-RPC. Unknown keys are ignored.
 */

/** Path of the link at the cloud. */
export const cloudPath = '/ws/station';
/** Largest frame either side accepts, bytes. */
export const maxCloudFrameBytes = 1_048_576;
/** Close code of a cloud that does not accept the station's token. */
export const tokenRejectedCode = 4401;

const CloudUserId = Type.String({ minLength: 1, maxLength: 128 });
const Email = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' });
const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const PasswordHash = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'PHC string of argon2id, or bcrypt with a cost of at most 12.',
});

const ClaimSuccess = Type.Object({
  type: Type.Literal('claim_success'),
  stationToken: Type.String({ minLength: 16, maxLength: 4096 }),
});

/** With `acks` the cloud acknowledges messages with a `seq`. Without it a message counts as delivered once it is sent. */
const AuthOk = Type.Object({ type: Type.Literal('auth_ok'), acks: Type.Optional(Type.Boolean()) });
const AuthError = Type.Object({
  type: Type.Literal('auth_error'),
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
});
/** The cloud has stored all messages of this connection up to and including this `seq`. */
const Ack = Type.Object({ type: Type.Literal('ack'), seq: Type.Integer({ minimum: 0 }) });

export const CloudMember = Type.Object({
  cloudUserId: CloudUserId,
  email: Email,
  name: Name,
  role: Type.Enum(['owner', 'admin', 'member']),
  stationPasswordHash: Type.Optional(Type.Union([PasswordHash, Type.Null()])),
});
export type CloudMember = Static<typeof CloudMember>;

/** A member in a list of the cloud. */
export const maxMembers = 1_000;
export const IdentitySync = Type.Object({
  type: Type.Literal('identity_sync'),
  station: Type.Object({ name: Name }),
  ownerId: Type.String({ minLength: 1, maxLength: 128, description: '`cloudUserId` of one of the members.' }),
  members: Type.Array(CloudMember, { maxItems: maxMembers }),
});
export type IdentitySync = Static<typeof IdentitySync>;
const StationRenamed = Type.Object({ type: Type.Literal('station_renamed'), name: Name });
const MemberAdded = Type.Object({ type: Type.Literal('member_added'), member: CloudMember });
const MemberUpdated = Type.Object({ type: Type.Literal('member_updated'), member: CloudMember });
const MemberRemoved = Type.Object({ type: Type.Literal('member_removed'), cloudUserId: CloudUserId });
const StationPasswordChanged = Type.Object({
  type: Type.Literal('station_password_changed'),
  cloudUserId: CloudUserId,
  stationPasswordHash: PasswordHash,
});
const StationReset = Type.Object({ type: Type.Literal('station_reset') });

/** Messages that the cloud sends, by `type`. */
export const cloudMessages = {
  claim_success: ClaimSuccess,
  auth_ok: AuthOk,
  auth_error: AuthError,
  ack: Ack,
  identity_sync: IdentitySync,
  station_renamed: StationRenamed,
  member_added: MemberAdded,
  member_updated: MemberUpdated,
  member_removed: MemberRemoved,
  station_password_changed: StationPasswordChanged,
  station_reset: StationReset,
} as const;
export type CloudMessageType = keyof typeof cloudMessages;
export type CloudMessage = { [T in CloudMessageType]: Static<(typeof cloudMessages)[T]> }[CloudMessageType];

/** The seven messages that change the station (specification, "Cloud legacy messages"). They are ignored before `auth_ok`. */
export const legacyMessageTypes = [
  'identity_sync',
  'station_renamed',
  'member_added',
  'member_updated',
  'member_removed',
  'station_password_changed',
  'station_reset',
] as const satisfies readonly CloudMessageType[];
type LegacyMessageType = (typeof legacyMessageTypes)[number];
export type LegacyMessage = Extract<CloudMessage, { type: LegacyMessageType }>;

import { Type, type Static } from 'typebox';
import { DeviceName } from './devices.ts';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';

/**
 * Bodies of /api/unknown-devices (contracts, sections 8 and 9): devices that want to connect and that this station does not have. They get
 * no answer until somebody accepts them: a device in the field erases itself when it is told that it is unknown.
 */

/** GET /api/unknown-devices (station role admin) → UnknownDevice[], the latest first, at most 500. */
export const UnknownDevice = Type.Object({
  externalId: Type.String(),
  type: Nullable(Type.String({ description: 'Of its handshake; null: none was received.' })),
  chip: Nullable(Type.String()),
  firmwareVersion: Nullable(Type.String()),
  firstSeenAt: Time,
  lastSeenAt: Time,
  blocked: Type.Boolean(),
  loginRefused: Type.Boolean({
    description:
      'The broker inside the backend refused its login, so its type is not known. To accept it means to trust that login once.',
  }),
  contested: Type.Boolean({
    description: 'Different tokens were presented for this id: it cannot be accepted. DELETE it to begin again.',
  }),
  acceptedUntil: Nullable(Type.String({ description: 'Accepted: added if it sends its handshake by then.' })),
});
export type UnknownDevice = Static<typeof UnknownDevice>;
export const UnknownDevices = Type.Array(UnknownDevice);

/**
 * POST /api/unknown-devices/:externalId/accept (station role admin).
 * 201 Device: added with the type of its handshake; the login that the broker has stays valid.
 * 202 UnknownDevice: its type is not known; it is added with its next handshake, until `acceptedUntil`. If only its login was seen
 * (`loginRefused`), it may log in once within 10 minutes with the token that it presented. The id of a device that the station has is never
 * listed, so nobody can take it in this way.
 * 409 `conflict`: different tokens were presented for this id (`contested`).
 */
export const AcceptUnknownDevice = Type.Object(
  { name: DeviceName, zoneId: Type.Optional(Nullable(Id)) },
  { additionalProperties: false },
);
export type AcceptUnknownDevice = Static<typeof AcceptUnknownDevice>;

/**
 * POST /api/unknown-devices/:externalId/block (station role admin) → UnknownDevice: silence for good, and no condition.
 * DELETE …/block → UnknownDevice. DELETE /api/unknown-devices/:externalId → 204: forgotten until it is seen again.
 */

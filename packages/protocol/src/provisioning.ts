import { Type, type Static } from 'typebox';
import { BleAddress, bleErrors } from './ble-frames.ts';
import { DeviceName } from './devices.ts';
import { Nullable } from './nullable.ts';
import { Id, Time, WifiPassword } from './rest.ts';
import { externalIdText } from './topics.ts';
import { typeNamePattern, typeNameWords } from './type-names.ts';
import { ssidText } from './wifi-password.ts';

/** Adding devices: bodies of /api/provisioning and its messages at /ws (contracts, sections 9 to 11). */

const closed = { additionalProperties: false } as const;

/** How long a device may take to send its handshake after the write. */
export const handshakeWithinMs = 60_000;
/** The same where a person has to type the login into the device's own page. */
export const manualHandshakeWithinMs = 60 * 60_000;

const ExternalId = Type.String({ ...externalIdText, description: 'The id in MQTT topics.' });
const DeviceTypeName = Type.String({ pattern: typeNamePattern, expected: typeNameWords });
const Ssid = Type.String({ ...ssidText, description: 'At most 32 bytes in UTF-8.' });
const Wifi = Type.Object({ ssid: Ssid, password: WifiPassword }, closed);

/** A device that advertises that it waits to be set up. */
export const Candidate = Type.Object({
  address: Type.String(),
  name: Type.String({ description: 'As advertised; may be empty.' }),
  rssi: Nullable(Type.Number({ description: 'dBm; null: not known.' })),
  service_uuids: Type.Array(Type.String()),
  service_data: Type.Record(Type.String(), Type.String({ description: 'Base64.' })),
  protocol: Type.Enum(['station', 'improv'], {
    description: 'improv: the device only joins the Wi-Fi; its login for the broker is entered in its own page.',
  }),
  externalId: Type.String({ description: 'From its name or service data; else made of its address.' }),
  deviceType: Nullable(Type.String({ description: 'From its name or service data; null: its handshake will say.' })),
  defaultName: Type.String(),
  deviceId: Nullable(Type.String({ description: 'The station has this device: adding it again replaces its login.' })),
  lastSeenAt: Time,
});
export type Candidate = Static<typeof Candidate>;

const radioReasons = [
  'adapter_missing',
  'adapter_off',
  'adapter_blocked',
  'bluetooth_stopped',
  'helper_failed',
  'disabled',
  'hotspot_in_use',
  'joining',
] as const;

/**
 * Whether devices can be found now. `off`: nobody is watching. `paused`: the radio has other work (`hotspot_in_use`, `joining`).
 * `unavailable`: see `reason`.
 */
export const RadioReport = Type.Object({
  state: Type.Enum(['off', 'starting', 'scanning', 'paused', 'unavailable']),
  reason: Nullable(Type.Enum([...radioReasons])),
});
export type RadioReport = Static<typeof RadioReport>;

/**
 * `queued`: another device is being written to, or the radio has other work. `writing`: connects to it and writes. `waiting`: it has what it
 * needs; the station waits for its handshake until `endsAt`. The others are ends.
 */
const provisioningStatuses = ['queued', 'writing', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const;

/** Why it failed. Codes of the BLE helper, and: */
export const provisioningErrors = [
  ...bleErrors,
  'helper_failed',
  'radio_unavailable',
  'broker_unavailable',
  'interrupted',
] as const;
export type ProvisioningError = (typeof provisioningErrors)[number];

export const Provisioning = Type.Object({
  id: Id,
  externalId: Type.String(),
  deviceType: Nullable(Type.String()),
  name: Type.String(),
  zoneId: Nullable(Id),
  method: Type.Enum(['ble', 'improv', 'manual'], {
    description: 'manual and improv: a person enters the login into the device.',
  }),
  status: Type.Enum([...provisioningStatuses]),
  error: Nullable(Type.Enum([...provisioningErrors])),
  startedBy: Nullable(Id),
  startedAt: Time,
  changedAt: Time,
  endsAt: Nullable(Time),
  deviceId: Nullable(Type.String({ description: 'Of the device, once it is online.' })),
});
export type Provisioning = Static<typeof Provisioning>;

/**
 * GET /api/provisioning (station role admin). Provisionings: those under way, and those that ended within a day, the latest first, at most
 * 200. `wifi`: the network that a device gets unless another is given. `broker`: the address that devices get.
 */
export const ProvisioningView = Type.Object({
  radio: RadioReport,
  candidates: Type.Array(Candidate),
  provisionings: Type.Array(Provisioning),
  wifi: Nullable(Type.Object({ ssid: Type.String(), isOpen: Type.Boolean() })),
  broker: Type.Object({ host: Type.String(), port: Type.Integer() }),
});
export type ProvisioningView = Static<typeof ProvisioningView>;

/**
 * POST /provisioning/add and /api/provisioning/add (station role admin) → 202 ProvisioningStarted. Errors: 404 not_found (no such
 * candidate), 409 candidate_ambiguous (several candidates have this id or one that looks like it, and no address was given), 409 conflict
 * (this device is being added), 409 no_wifi_credentials, 503 unavailable (no radio). What is written goes to the address of the candidate
 * alone.
 */
export const ProvisioningAdd = Type.Object(
  {
    externalId: ExternalId,
    address: Type.Optional(BleAddress),
    name: Type.Optional(DeviceName),
    zoneId: Type.Optional(Nullable(Id)),
    wifi: Type.Optional(Wifi),
  },
  closed,
);
export type ProvisioningAdd = Static<typeof ProvisioningAdd>;
export const ProvisioningStarted = Type.Object({ provisioningId: Id, status: Type.Enum([...provisioningStatuses]) });
export type ProvisioningStarted = Static<typeof ProvisioningStarted>;

/** What a person enters into the device's own page. Shown once. */
export const DeviceLoginSheet = Type.Object({
  device_id: Type.String(),
  device_token: Type.String(),
  station_id: Type.String(),
  mqtt_host: Type.String(),
  mqtt_port: Type.Integer(),
});
export type DeviceLoginSheet = Static<typeof DeviceLoginSheet>;

/**
 * POST /api/provisioning/manual (station role admin) → 201 ManualProvisionings: the logins of devices that get them by hand, in the order of
 * the request. All or none. A device that the station has keeps its login until the new one is used. Errors: 400 validation_failed, 409
 * conflict (this device is being added), 503 unavailable (the broker does not take the logins).
 */
export const ManualAdd = Type.Object(
  {
    devices: Type.Array(
      Type.Object(
        {
          externalId: ExternalId,
          type: DeviceTypeName,
          name: Type.Optional(DeviceName),
          zoneId: Type.Optional(Nullable(Id)),
        },
        closed,
      ),
      { minItems: 1, maxItems: 200 },
    ),
  },
  closed,
);
export type ManualAdd = Static<typeof ManualAdd>;
export const ManualProvisionings = Type.Array(Type.Object({ provisioning: Provisioning, login: DeviceLoginSheet }));
export type ManualProvisionings = Static<typeof ManualProvisionings>;

/**
 * DELETE /api/provisioning/:id (station role admin) → 200 Provisioning: cancelled, and the login that was made is revoked. 409 conflict: it
 * has ended. POST /api/provisioning/:id/login → 200 DeviceLoginSheet of an Improv device that waits (a new token; the one before is
 * revoked).
 */

/** A candidate was found or changed. Replayed to a new client. At most one a second for each device. */
export const CandidateMessage = Type.Object({
  type: Type.Literal('provisioning_candidate'),
  at: Time,
  candidate: Candidate,
});
/** It does not advertise any more. */
export const CandidateLostMessage = Type.Object({
  type: Type.Literal('provisioning_candidate_lost'),
  at: Time,
  address: Type.String(),
});
export const ProvisioningProgressMessage = Type.Object({
  type: Type.Literal('provisioning_progress'),
  at: Time,
  provisioning: Provisioning,
});
/** Replayed to a new client. */
export const RadioMessage = Type.Object({ type: Type.Literal('provisioning_radio'), at: Time, radio: RadioReport });

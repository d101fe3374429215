import { Type, type Static } from 'typebox';
import { Email, NewEmail } from './email.ts';
import { Nullable } from './nullable.ts';
import { roles } from './roles.ts';
import { nameText } from './text-fields.ts';
import { longestWifiPassword, ssidText } from './wifi-password.ts';

/**
 * Bodies of the backend's REST interface (contracts, sections 7 and 9).
 *
 * Request bodies refuse unknown keys (400 with the JSON pointer of each fault). Every error has the body of `errors.ts`.
 * Bodies of /api/system/* are those of the agent: see `agent-api.ts`.
 */

const closed = { additionalProperties: false } as const;

export const Time = Type.String({ description: 'ISO 8601, UTC, milliseconds.' });
export const Id = Type.String({ format: 'uuid' });

/** The largest answer to a GET request, bytes of JSON (contracts, section 9). */
export const maxAnswerBytes = 256 * 1024;

/**
 * Lists end where the answer would be larger than 256 KiB. Then the header `Link: </api/…?after=…>; rel="next"` (RFC 8288) names the next
 * page; without it the list is complete. An object with a list continues likewise: its other fields are the same on each page.
 */
export const PageQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'From the header `Link` of the previous page.' }),
    ),
  },
  closed,
);

export const Role = Type.Enum([...roles]);

const NewPassword = Type.String({ minLength: 10, maxLength: 256, description: 'At least 10 characters.' });
const GivenPassword = Type.String({ minLength: 1, maxLength: 256 });
const PersonName = Type.String(nameText);
const TimeZone = Type.String({ minLength: 1, maxLength: 64, description: 'IANA name, e.g. Europe/Kyiv.' });
const StationName = Type.String(nameText);

/** Why the backend cannot write. `unreachable`, `no answer`: a database on a server. `locked`: by another program. */
const storageFaults = [
  'disk full',
  'read-only',
  'input/output error',
  'damaged',
  'locked',
  'unreachable',
  'no answer',
] as const;
export type StorageFault = (typeof storageFaults)[number];

/**
 * GET /api/health (public): 200 when everything that is configured works, else 503 with the same shape,
 * `status: "failing"` and the failing check `false`. `database`: whether the backend can write. `mqtt`: whether the backend receives
 * messages of devices. `reasons`: why a check fails; absent when all pass.
 */
export const BackendHealth = Type.Object({
  status: Type.Enum(['ok', 'failing']),
  version: Type.String({ description: 'Release version.' }),
  checks: Type.Object({ database: Type.Boolean(), mqtt: Type.Boolean() }),
  reasons: Type.Optional(
    Type.Object({
      database: Type.Optional(Type.Enum([...storageFaults])),
      mqtt: Type.Optional(Type.Enum(['not connected'])),
    }),
  ),
  replica: Type.Optional(
    Type.Object({ id: Type.String(), leader: Type.Boolean() }, { description: 'Which replica answers.' }),
  ),
});
export type BackendHealth = Static<typeof BackendHealth>;

export const User = Type.Object({
  id: Id,
  email: Type.String(),
  name: Type.String(),
  role: Role,
  createdAt: Time,
  wasOwner: Type.Optional(
    Type.Boolean({
      description:
        'Was the owner before the cloud named another one. May end remote access and is then the owner again.',
    }),
  ),
});
export type User = Static<typeof User>;

/** GET /api/auth/setup (public): whether to show the first-run page, and whose log-in page this is. */
export const SetupState = Type.Object({
  needed: Type.Boolean(),
  stationName: Nullable(Type.String({ description: 'Null while the station has no owner.' })),
  lost: Type.Optional(
    Type.Object(
      {
        at: Time,
        file: Type.String({ description: 'Name of the damaged file, which is kept in the data folder.' }),
        backup: Nullable(
          Type.Object(
            { place: Type.Enum(['station', 'folder']), madeAt: Time },
            { description: 'The newest backup on the disks of this machine; null: there is none.' },
          ),
        ),
      },
      { description: 'The database was damaged and no copy of it was good. Until the station has an owner again.' },
    ),
  ),
});
export type SetupState = Static<typeof SetupState>;

/**
 * POST /api/auth/setup (public, once) → 201 Session. Creates the owner.
 * `code` is what the station prints and the agent shows; case, spaces and dashes do not matter. A `timeZone` that the station does not
 * know is left out.
 * Errors: 403 setup_code_invalid, 409 setup_already_done, 429 too_many_requests (with Retry-After).
 */
export const SetupRequest = Type.Object(
  {
    code: Type.String({ minLength: 1, maxLength: 64 }),
    email: NewEmail,
    password: NewPassword,
    name: PersonName,
    stationName: Type.Optional(StationName),
    timeZone: Type.Optional(TimeZone),
  },
  closed,
);
export type SetupRequest = Static<typeof SetupRequest>;

/**
 * POST /api/auth/login (public) → 200 Session. Errors: 401 invalid_credentials, 403 access_ended: the end of a guest has passed,
 * 429 too_many_requests (with Retry-After).
 */
export const LoginRequest = Type.Object({ email: Email, password: GivenPassword }, closed);
export type LoginRequest = Static<typeof LoginRequest>;

/**
 * Answer of setup, login and refresh. The refresh token travels only in an HttpOnly, SameSite=Strict cookie (path /api/auth).
 * POST /api/auth/refresh (no body) → 200 Session, or 401 session_expired: log in again. Each refresh token works once; one used
 * a second time ends the session on every tab, so tabs of one browser must take turns (a lock in localStorage, or one tab asks).
 * POST /api/auth/logout (no body) → 204, also when the session had ended already. Its access tokens end at once, with open
 * WebSockets and event streams.
 */
export const Session = Type.Object({
  accessToken: Type.String({ description: 'JWT for `Authorization: Bearer` and for the first message of /ws.' }),
  expiresAt: Time,
  user: User,
});
export type Session = Static<typeof Session>;

/**
 * GET /api/auth/sessions (user) → 200: where this user is logged in, the last used first, at most 100.
 * DELETE /api/auth/sessions/:id (user) → 204: ends one of them at once. Errors: 404 not_found.
 */
export const SessionList = Type.Object({
  sessions: Type.Array(
    Type.Object({
      id: Id,
      isCurrent: Type.Boolean({ description: 'Whether this request belongs to it.' }),
      userAgent: Nullable(Type.String({ description: 'What used it last, as it names itself.' })),
      address: Nullable(Type.String({ description: 'IP address from which it was used last.' })),
      openedAt: Time,
      usedAt: { ...Time, description: 'The last log-in or renewal, which happens about every 15 minutes of use.' },
    }),
  ),
});
export type SessionList = Static<typeof SessionList>;

/**
 * POST /api/auth/password (user) → 204. Ends all other sessions of the user. Errors: 401 invalid_credentials, 409 conflict: the new
 * password is the current one.
 */
export const PasswordChange = Type.Object({ currentPassword: GivenPassword, newPassword: NewPassword }, closed);
export type PasswordChange = Static<typeof PasswordChange>;

/** Where the station is, in degrees; for sunrise and sunset two decimals (about 1 km) are enough. */
export const Place = Type.Object(
  { latitude: Type.Number({ minimum: -90, maximum: 90 }), longitude: Type.Number({ minimum: -180, maximum: 180 }) },
  closed,
);
export type Place = Static<typeof Place>;

/** GET /api/station (user, also limited members and guests: for them `place` and `ownerId` are null). */
export const Station = Type.Object({
  id: Nullable(Type.String({ description: 'STATION_ID; null when it is not set.' })),
  name: Type.String(),
  timeZone: Type.String({ description: 'IANA name, e.g. Europe/Kyiv.' }),
  place: Nullable(Place),
  ownerId: Nullable(Id),
  version: Type.String({ description: 'Release version.' }),
});
export type Station = Static<typeof Station>;

export const StationPatch = Type.Object(
  { name: Type.Optional(StationName), timeZone: Type.Optional(TimeZone), place: Type.Optional(Nullable(Place)) },
  { ...closed, minProperties: 1 },
);
export type StationPatch = Static<typeof StationPatch>;

/** Zones that a limited member or a guest may use. */
const ZoneIds = Type.Array(Id, { minItems: 1, maxItems: 200, uniqueItems: true });
const EndsAt = Type.String({ format: 'date-time', description: 'When the access of a guest ends.' });

/** GET /api/station/members (user) → Member[]; the owner comes first. */
export const Member = Type.Object({
  userId: Id,
  email: Type.String(),
  name: Type.String(),
  role: Role,
  zoneIds: Nullable(Type.Array(Id, { description: 'Null: the whole station. Empty: their zones were removed.' })),
  endsAt: Nullable(Time),
  joinedAt: Time,
  isFromCloud: Type.Boolean({ description: 'The cloud knows this member and may change or remove them.' }),
});
export type Member = Static<typeof Member>;
export const Members = Type.Array(Member);

/** The owner is not given. `limited` and `guest` need `zoneIds`, `guest` needs `endsAt`; the other roles have neither. */
const givenRights = {
  role: Type.Enum(['admin', 'member', 'limited', 'guest']),
  zoneIds: Type.Optional(ZoneIds),
  endsAt: Type.Optional(EndsAt),
};

/**
 * POST /api/station/members (station role owner or admin) → 201 AddedMember. The role `owner` cannot be given. Without a password the
 * station generates one. Errors: 403 forbidden when an admin adds an admin, 409 conflict when the address is already a member.
 */
export const NewMember = Type.Object(
  { email: NewEmail, name: PersonName, password: Type.Optional(NewPassword), ...givenRights },
  closed,
);
export type NewMember = Static<typeof NewMember>;

export const AddedMember = Type.Object({
  ...Member.properties,
  firstPassword: Nullable(
    Type.String({ description: 'Generated by the station and shown only here; null when the request had a password.' }),
  ),
});
export type AddedMember = Static<typeof AddedMember>;

/**
 * POST /api/station/members/:userId/password (no body; station role owner, or admin for members) → 200 MadePassword: a new password
 * for somebody who forgot theirs. Ends all their sessions, and removes their passkeys. 409 conflict for the owner, who uses /api/auth/password.
 */
export const MadePassword = Type.Object({ password: Type.String({ description: 'Shown only here.' }) });
export type MadePassword = Static<typeof MadePassword>;

/**
 * PATCH /api/station/members/:userId (station role owner or admin) → 200 Member: replaces role, zones and end. Open WebSockets of the member
 * end. Errors: 403 forbidden when an admin changes an admin or makes one; the owner cannot be changed: 409 conflict.
 */
export const MemberPatch = Type.Object(givenRights, closed);
export type MemberPatch = Static<typeof MemberPatch>;
/* DELETE /api/station/members/:userId (station role owner, or admin for those below) → 204; the owner cannot be removed: 409. */

/** Of a network for devices; `wifiPasswordProblem` checks it. */
export const WifiPassword = Type.String({
  maxLength: longestWifiPassword,
  description:
    'Empty for an open network. WPA2: 8 to 63 bytes in UTF-8, or 64 hexadecimal digits. WPA3: 1 to 128 bytes. Where the station does ' +
    'not know the security of the network, as for WPA3. Else: 400 wifi_password_invalid.',
});

/**
 * POST /api/settings/agent (agent token) → 204: the Wi-Fi that the agent joined, for devices that are provisioned later. Stored
 * encrypted; it cannot be read back.
 */
export const AgentSettings = Type.Object(
  {
    wifi: Type.Object(
      {
        ssid: Type.String({ minLength: 1, maxLength: 32 }),
        password: WifiPassword,
        security: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
      },
      closed,
    ),
  },
  closed,
);
export type AgentSettings = Static<typeof AgentSettings>;

/** GET /api/agent/wifi (agent token): the network of POST /api/agent/wifi, without the password. */
export const AgentWifi = Type.Object({
  wifi: Nullable(Type.Object({ ssid: Type.String(), security: Nullable(Type.String()), updatedAt: Nullable(Time) })),
});
export type AgentWifi = Static<typeof AgentWifi>;

/** GET /api/settings/wifi (station role owner or admin): the Wi-Fi that new devices get. Its password is never returned. */
export const DeviceWifi = Type.Object({
  ssid: Nullable(Type.String({ description: 'Null when none is set.' })),
  isOpen: Type.Boolean({ description: 'Whether the network needs no password.' }),
  updatedAt: Nullable(Time),
});
export type DeviceWifi = Static<typeof DeviceWifi>;

/** PUT /api/settings/wifi (station role owner or admin) → 200 DeviceWifi; DELETE → 204. */
export const DeviceWifiPut = Type.Object(
  {
    ssid: Type.String(ssidText),
    password: WifiPassword,
  },
  closed,
);
export type DeviceWifiPut = Static<typeof DeviceWifiPut>;

/**
 * POST /api/system/update and /api/system/rollback (role owner or admin) → 202 `Accepted` of agent-api.ts. The backend never waits for the
 * end: an update replaces the backend itself. Follow it by `agent_event` on /ws, and GET /api/system/status after a reconnect.
 * Errors are the agent's own (409 update_in_progress, 409 nothing_to_roll_back, 422 version_not_derivable, …) or 502 agent_unreachable.
 */
/** GET /api/system/clock (user), and the answer to POST. */
export const StationClock = Type.Object({
  now: Time,
  trusted: Type.Boolean({ description: 'Known to be right. If not, new times are provisional.' }),
  source: Type.Enum(['ntp', 'person', 'none', 'unknown'], {
    description: 'Who made it right: NTP, a person, nobody; unknown: no agent tells.',
  }),
  needsHelp: Type.Boolean({ description: 'It is not known to be right, and will not be without NTP or a person.' }),
  provisionalSince: Nullable(Time),
});
export type StationClock = Static<typeof StationClock>;

/** POST /api/system/clock (owner, admin): sets the clock to the time of a person's device. */
export const StationClockRequest = Type.Object({ now: Time }, closed);
export type StationClockRequest = Static<typeof StationClockRequest>;

export const SystemUpdateRequest = Type.Object(
  { version: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) },
  closed,
);
export type SystemUpdateRequest = Static<typeof SystemUpdateRequest>;

/** One fault of a refused request, in `details.faults` of a 400 validation_failed. */
export const ValidationFault = Type.Object({
  in: Type.Enum(['body', 'querystring', 'params', 'headers']),
  pointer: Type.String({ description: 'RFC 6901 JSON pointer; "" is the whole document.' }),
  message: Type.String(),
});
export type ValidationFault = Static<typeof ValidationFault>;

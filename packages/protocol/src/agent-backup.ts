import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';
import { longestWifiPassword } from './wifi-password.ts';

/** The agent's part of a backup: `GET /backup` and `POST /backup/restore` of its API. Both bodies hold secrets. */

const closed = { additionalProperties: false };

/** Security of networks that a station can join again; enterprise and WEP networks are not saved. */
const savedSecurities = ['open', 'owe', 'wpa2', 'wpa3'] as const;

export const SavedNetwork = Type.Object(
  {
    ssid: Type.String({ pattern: '^([0-9a-f]{2}){1,32}$', description: 'The bytes of the name as lower-case hex.' }),
    security: Type.Enum([...savedSecurities]),
    hidden: Type.Boolean({ description: 'Its access points do not broadcast the name.' }),
    password: Nullable(Type.String({ minLength: 1, maxLength: longestWifiPassword })),
  },
  closed,
);
export type SavedNetwork = Static<typeof SavedNetwork>;

/** `dynamic-security.json` of Mosquitto, as far as it is checked here; the agent gives back only logins and rights of devices. */
export const BrokerLogins = Type.Object(
  { clients: Type.Array(Type.Object({ username: Type.String() }), { maxItems: 20_000 }) },
  { description: 'The file of the dynamic-security plugin. Passwords in it are salted hashes.' },
);
export type BrokerLogins = Static<typeof BrokerLogins>;

/** A part that could not be read or written, and why. */
export const MissingPart = Type.Object(
  {
    part: Type.Enum(['wifi', 'broker', 'release', 'authority', 'auto_update']),
    reason: Type.Enum(['not_managed', 'not_supported', 'unavailable', 'too_large', 'refused'], {
      description:
        'not_managed: the agent has no such part here. not_supported: some networks have a security that cannot be saved. unavailable: NetworkManager or the container engine does not answer, or the disk cannot be written. too_large: the logins exceed 3 MiB. refused: it was not accepted.',
    }),
  },
  closed,
);
export type MissingPart = Static<typeof MissingPart>;

export const AgentBackup = Type.Object(
  {
    wifi: Nullable(Type.Array(SavedNetwork, { maxItems: 100 })),
    broker: Nullable(BrokerLogins),
    release: Nullable(
      Type.Object(
        {
          version: Nullable(Type.String({ maxLength: 128 })),
          images: Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 64 }),
        },
        closed,
      ),
    ),
    authority: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 8192,
          description:
            'Certificate and key (PEM) of the authority of the station. Phones that trust it go on doing so. Absent in older backups.',
        }),
      ),
    ),
    autoUpdate: Type.Optional(
      Type.Boolean({ description: 'What a person chose. Absent where nobody chose, and in older backups.' }),
    ),
    missing: Type.Array(MissingPart, { maxItems: 20 }),
  },
  closed,
);
export type AgentBackup = Static<typeof AgentBackup>;

/** The answer of `POST /backup/restore`. */
export const AgentRestored = Type.Object({
  wifi: Type.Object({
    added: Type.Integer(),
    kept: Type.Integer({ description: 'Networks that the station already knows; they stay as they are.' }),
  }),
  broker: Type.Boolean({ description: 'The logins of devices were put back, and the broker was restarted.' }),
  release: Type.Enum(['current', 'started', 'none'], {
    description: 'started: the release of the backup is newer and is being installed. none: the backup names none.',
  }),
  missing: Type.Array(MissingPart),
});
export type AgentRestored = Static<typeof AgentRestored>;

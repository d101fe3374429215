import { Type, type Static } from 'typebox';
import { WifiStatus } from './agent-api.ts';
import { Nullable } from './nullable.ts';
import { longestWifiPassword, securities } from './wifi-password.ts';

/** Bodies of the agent's routes of the network: GET /network, POST /network/scan, POST /network/join. */

const Time = Type.String({ description: 'ISO 8601, UTC, milliseconds.' });

const SsidHex = Type.String({
  pattern: '^([0-9a-f]{2}){1,32}$',
  expected: '1 to 32 bytes as lower-case hexadecimal digits',
  description: 'The name as lower-case hex: it is not always text.',
});

/** Why a network could not be joined. */
export const joinFailures = [
  'wrong_password',
  'not_found',
  'no_address',
  /** Joined and got an address, but nothing answers there, not even the gateway. */
  'no_gateway',
  /** This radio or station does not support this kind of security. */
  'unsupported',
  /** The access point rejected the station. */
  'refused',
  'timed_out',
  'failed',
] as const;
export type JoinFailure = (typeof joinFailures)[number];

/** Why no network can be joined now. */
const joinBlockers = ['not_managed', 'no_radio', 'starting', 'joining', 'hotspot'] as const;
export type JoinBlocker = (typeof joinBlockers)[number];

export const NearNetwork = Type.Object({
  ssid: SsidHex,
  name: Type.String({ description: 'For people; bytes that are no text as \\xNN.' }),
  security: Type.Enum([...securities]),
  signal: Type.Number({ description: 'Percent.' }),
  isKnown: Type.Boolean(),
});
export type NearNetwork = Static<typeof NearNetwork>;

export const NetworkLink = Type.Object({
  interface: Type.String(),
  kind: Type.Enum(['ethernet', 'wifi', 'other']),
  mac: Type.String(),
  addresses: Type.Array(Type.String()),
});
export type NetworkLink = Static<typeof NetworkLink>;

export const NetworkState = Type.Object({
  wifi: WifiStatus,
  links: Type.Array(NetworkLink),
  blocker: Nullable(Type.Enum([...joinBlockers], { description: 'Why no network can be joined now.' })),
  networks: Type.Array(NearNetwork, { description: 'Of the last scan, strongest first.' }),
  scannedAt: Nullable(Time),
  joining: Nullable(Type.String({ description: 'Name of the network that is tried now.' })),
  lastJoin: Nullable(
    Type.Object(
      { name: Type.String(), failure: Nullable(Type.Enum([...joinFailures])), at: Time },
      { description: 'The last network that somebody joined in the web app; forgotten when the agent ends.' },
    ),
  ),
  stationAddress: Type.String({ description: 'Where the station is found in another network.' }),
  mdnsName: Type.Optional(
    Nullable(
      Type.String({
        description:
          'The name that the machine has in multicast DNS now, like station-2.local. Null: Avahi does not answer.',
      }),
    ),
  ),
});
export type NetworkState = Static<typeof NetworkState>;

export const NetworkJoinRequest = Type.Object(
  {
    ssid: SsidHex,
    security: Nullable(Type.Enum([...securities], { description: 'Null: as the station sees it.' })),
    password: Nullable(Type.String({ maxLength: longestWifiPassword })),
    isHidden: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type NetworkJoinRequest = Static<typeof NetworkJoinRequest>;

import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';
import { Id, Time, WifiPassword } from './rest.ts';
import { ssidText } from './wifi-password.ts';

/** Moving the devices to another Wi-Fi (contracts, sections 8 and 9). */

/** How long a device may take to send its handshake from the new network. */
export const wifiFollowMs = 3 * 60_000;

/**
 * POST /api/devices/wifi (station role owner or admin) → 202 DevicesWifi. Errors: 400 validation_failed, 409 conflict while another change
 * runs, 409 no_wifi_credentials without a body when the agent has forwarded no network.
 */
export const DevicesWifiRequest = Type.Object(
  {
    ssid: Type.String({ ...ssidText, description: 'At most 32 bytes in UTF-8.' }),
    password: WifiPassword,
  },
  {
    additionalProperties: false,
    description:
      'Tells every online device to join this network, and waits 3 minutes for the handshake of each. Without a body: the network that the ' +
      'agent joined last. Devices receive the message over their present network: send it while the station still reaches them there, ' +
      'and move the station or switch the old network off afterwards.',
  },
);
export type DevicesWifiRequest = Static<typeof DevicesWifiRequest>;

/**
 * `waiting`: not told yet. `told`: the broker took the message. `followed`: its handshake came afterwards. `not_followed`: none came in
 * time. `not_told`: the message could not be sent, or the change was cancelled first. `offline`: it gets the message if it comes online
 * while the change runs.
 */
export const wifiDeviceStates = ['waiting', 'told', 'followed', 'not_followed', 'not_told', 'offline'] as const;
export type WifiDeviceState = (typeof wifiDeviceStates)[number];

const WifiDevice = Type.Object({
  deviceId: Id,
  state: Type.Enum([...wifiDeviceStates]),
  reason: Nullable(Type.String({ description: 'Why it was not told, in English; never a secret.' })),
  changedAt: Time,
});

const WifiChange = Type.Object({
  id: Id,
  ssid: Type.String(),
  state: Type.Enum(['running', 'ended', 'cancelled']),
  startedBy: Nullable(Id),
  startedAt: Time,
  endedAt: Nullable(Time),
  counts: Type.Object(
    Object.fromEntries(wifiDeviceStates.map((state) => [state, Type.Integer()])) as Record<
      WifiDeviceState,
      ReturnType<typeof Type.Integer>
    >,
  ),
  devices: Type.Array(WifiDevice, {
    description:
      'By name; at most 1,000, and less when they exceed 256 KiB: `counts` has all. A device that was removed meanwhile is not in it.',
  }),
});

const devicesWifi = {
  change: Nullable(WifiChange),
  stationSsid: Nullable(
    Type.String({ description: 'The network that the agent joined last: POST without a body uses it.' }),
  ),
  offer: Nullable(
    Type.Object(
      { ssid: Type.String() },
      { description: 'The station joined another network. Until a change starts, or DELETE /api/devices/wifi/offer.' },
    ),
  ),
};

/**
 * GET /api/devices/wifi (station role owner or admin): the latest change, running or not.
 * POST /api/devices/wifi/cancel (owner or admin) → 200 DevicesWifi: nobody else is told; a device that was told may still follow. 409
 * conflict when none runs. DELETE /api/devices/wifi/offer (owner or admin) → 204.
 */
export const DevicesWifi = Type.Object(devicesWifi);
export type DevicesWifi = Static<typeof DevicesWifi>;

/** DevicesWifi as it is now. Sent on change. */
export const DevicesWifiMessage = Type.Object({ type: Type.Literal('devices_wifi'), at: Time, ...devicesWifi });

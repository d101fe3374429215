import type { WifiDeviceState } from '@station/protocol/devices-wifi';
import type { Provisioning } from '@station/protocol/provisioning';

declare module '../store/schema.ts' {
  interface Schema {
    provisionings: ProvisioningsTable;
    wifi_changes: WifiChangesTable;
    wifi_change_devices: WifiChangeDevicesTable;
  }
}

/** One row for each time that a device is added. Open: `queued`, `writing` or `waiting`; one of them for each external id. */
export type ProvisioningsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  external_id: string;
  device_type: string | null;
  name: string;
  /** 1: a device that the station has gets this name. */
  name_given: number;
  zone_id: string | null;
  zone_given: number;
  method: Provisioning['method'];
  /** Of the candidate; null without radio. */
  address: string | null;
  /** 1: the station had this device when it began. */
  had_device: number;
  status: Provisioning['status'];
  error: Provisioning['error'];
  started_by: string | null;
  started_at: number;
  changed_at: number;
  ends_at: number | null;
  device_id: string | null;
  /** Of the login that was made; null: none, or it ended. */
  token_hash: string | null;
  /** Since when a handshake can only come from a device with this login; null: not yet. */
  login_at: number | null;
  /** Sealed JSON: the Wi-Fi, and the token while it has to be written or given to the broker. Null when it ended. */
  secrets: string | null;
};

/** One row: the latest change of the devices' Wi-Fi. */
export type WifiChangesTable = {
  id: string;
  ssid: string;
  /** Encrypted by the secret box; null once no device needs them any more. */
  credentials: string | null;
  state: 'running' | 'ended' | 'cancelled';
  started_by: string | null;
  started_at: number;
  ended_at: number | null;
};

type WifiChangeDevicesTable = {
  change_id: string;
  device_id: string;
  state: WifiDeviceState;
  /** When the message was given to the broker; set before that, so that a crash in between repeats it. */
  told_at: number | null;
  reason: string | null;
  changed_at: number;
};

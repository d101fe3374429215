import { improvCommandUuid, improvServiceUuid } from '@station/protocol/ble-frames';
import type { Expected } from './expected-devices.ts';
import type { WriteState } from './provisioning-decide.ts';
import type { ProvisioningRow } from './provisioning-ends.ts';
import type { ProvisioningStore } from './provisioning-store.ts';
import type { Radio } from './radio.ts';

export type WriteParts = {
  store: ProvisioningStore;
  expected: Pick<Expected, 'announce'>;
  radio: Pick<Radio, 'write'>;
  uuids: { serviceUuid: string; characteristicUuid: string };
  stationId: string;
  /** Where devices of this network reach the broker. */
  brokerAddress: (ssid: string | null) => Promise<{ host: string; port: number }>;
};

type Write = { row: ProvisioningRow; token: string | undefined; aborting: AbortController; state: WriteState };

/** Writes to devices over radio: those of this process that are under way, or whose result was not used yet. */
export type RadioWrites = {
  state(row: ProvisioningRow): WriteState;
  /** @returns false when its secrets cannot be read. */
  start(row: ProvisioningRow): Promise<boolean>;
  /** What is written. Null: its secrets cannot be read. */
  payload(row: ProvisioningRow, token: string | undefined): Promise<string | null>;
  forget(row: ProvisioningRow): void;
  /** Gives up what is not among these. @returns what was written all the same. */
  leave(ids: ReadonlySet<string>): Write[];
  stop(): void;
};

export function createRadioWrites(parts: WriteParts, onChange: () => void): RadioWrites {
  const { store, radio } = parts;
  const writes = new Map<string, Write>();
  const payload = (row: ProvisioningRow, token: string | undefined) => payloadOf(parts, row, token);
  return {
    state: ({ id }) => writes.get(id)?.state ?? { kind: 'none' },
    payload,
    start: async (row) => {
      const token = store.secrets(row)?.token;
      const text = await payload(row, token);
      if (text === null) return false;
      // Never another one that says it is this device: it would get the password of the Wi-Fi.
      const address = row.address ?? '';
      const write: Write = { row, token, aborting: new AbortController(), state: { kind: 'running' } };
      writes.set(row.id, write);
      const onStart = (): void => void noteStart(parts, row).catch(() => undefined);
      const options = { onStart, signal: write.aborting.signal };
      void radio.write({ address, ...uuidsOf(parts, row), payload: text }, options).then((outcome) => {
        write.state = outcome.ok ? { kind: 'done' } : { kind: 'failed', error: outcome.error };
        onChange();
      });
      return true;
    },
    forget: ({ id }) => void writes.delete(id),
    leave: (ids) => {
      const left = [...writes.values()].filter(({ row }) => !ids.has(row.id));
      for (const { aborting, row, state } of left) {
        aborting.abort();
        if (state.kind !== 'running') writes.delete(row.id);
      }
      return left.filter(({ state }) => state.kind === 'done');
    },
    stop: () => {
      for (const { aborting } of writes.values()) aborting.abort();
      writes.clear();
    },
  };
}

async function noteStart({ store, expected }: WriteParts, row: ProvisioningRow): Promise<void> {
  const writing = await store.writing(row);
  if (writing !== null) expected.announce(writing);
}

const uuidsOf = ({ uuids }: WriteParts, { method }: ProvisioningRow) =>
  method === 'improv'
    ? { service_uuid: improvServiceUuid, characteristic_uuid: improvCommandUuid }
    : { service_uuid: uuids.serviceUuid, characteristic_uuid: uuids.characteristicUuid };

/** Contracts, section 11. */
async function payloadOf(
  { store, stationId, brokerAddress }: WriteParts,
  row: ProvisioningRow,
  token: string | undefined,
): Promise<string | null> {
  const wifi = store.secrets(row)?.wifi;
  if (wifi === undefined) return null;
  const { ssid, password } = wifi;
  if (row.method === 'improv') return JSON.stringify({ ssid, password });
  if (token === undefined) return null;
  const { host, port } = await brokerAddress(ssid);
  return JSON.stringify({
    ssid,
    password,
    mqtt_host: host,
    mqtt_port: port,
    device_id: row.external_id,
    device_token: token,
    station_id: stationId,
  });
}

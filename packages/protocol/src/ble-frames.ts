import { Type, type Static } from 'typebox';

/**
 * Frames between the backend and its BLE helper (specification, "BLE helper protocol"; contracts, section 11): one JSON object a line, UTF-8,
 * on standard input and output. On standard error the helper writes notes, one JSON object a line.
 */

/** Service and characteristic of devices of this family; PROVISIONING_SERVICE_UUID and PROVISIONING_CHARACTERISTIC_UUID replace them. */
export const provisioningServiceUuid = '85e4cb5a-4718-47e3-b363-b2d82655ee1e';
export const provisioningCharacteristicUuid = '12c158d5-220f-4be9-b46a-a235f44c412a';

/** Improv Wi-Fi over BLE (improv-wifi.com, "Improv via BLE"): the service, its RPC command characteristic, and its service data. */
export const improvServiceUuid = '00467768-6228-2272-4663-277478268000';
export const improvCommandUuid = '00467768-6228-2272-4663-277478268003';
export const improvServiceDataUuid = '00004677-0000-1000-8000-00805f9b34fb';

/** An attribute value (Bluetooth Core, vol. 3, part F, 3.2.9), bytes. */
export const maxPayloadBytes = 512;
/** Every `connect_and_write` gets its one `write_result` within this time. */
export const writeResultWithinMs = 45_000;
/** A longer line is ignored, bytes. */
export const maxLineBytes = 64 * 1024;

const Uuid = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' });
/** Upper case, as BlueZ writes it. */
export const BleAddress = Type.String({
  pattern: '^([0-9A-F]{2}:){5}[0-9A-F]{2}$',
  expected: 'an address of Bluetooth, such as 24:6F:28:01:02:03',
});

const StartScan = Type.Object({ event: Type.Literal('start_scan'), service_uuid: Uuid });
const StopScan = Type.Object({ event: Type.Literal('stop_scan') });
/**
 * `payload`: the text whose UTF-8 bytes are written. For the Improv service it is `{ ssid, password }` as JSON; the helper makes Improv's
 * command of it and waits until the device has joined the network, or has said why not.
 */
const ConnectAndWrite = Type.Object({
  event: Type.Literal('connect_and_write'),
  address: BleAddress,
  service_uuid: Uuid,
  characteristic_uuid: Uuid,
  payload: Type.String({ minLength: 1 }),
});
/** Backend to helper. */
export const HelperCommand = Type.Union([StartScan, StopScan, ConnectAndWrite]);
export type HelperCommand = Static<typeof HelperCommand>;
export type ConnectAndWrite = Static<typeof ConnectAndWrite>;

const Discovered = Type.Object({
  event: Type.Literal('discovered'),
  address: BleAddress,
  name: Type.String({ maxLength: 248, description: 'Empty: it advertises none.' }),
  rssi: Type.Number({ description: 'dBm; 127: not known.' }),
  service_uuids: Type.Array(Uuid, { maxItems: 64 }),
  service_data: Type.Record(Uuid, Type.String({ description: 'Base64.' }), { maxProperties: 64 }),
});
export type Discovered = Static<typeof Discovered>;

/** Why a write failed. */
export const bleErrors = [
  'adapter_missing',
  'adapter_off',
  'adapter_blocked',
  'bluetooth_stopped',
  'not_found',
  'connect_failed',
  'service_missing',
  'characteristic_missing',
  'write_failed',
  'disconnected',
  'timed_out',
  'payload_invalid',
  'improv_not_authorized',
  'improv_wrong_credentials',
  'improv_refused',
  'stopping',
] as const;
export type BleError = (typeof bleErrors)[number];

const WriteResult = Type.Object({
  event: Type.Literal('write_result'),
  address: BleAddress,
  ok: Type.Boolean(),
  error: Type.Optional(Type.String({ maxLength: 200, description: 'One of `bleErrors`.' })),
});
export type WriteResult = Static<typeof WriteResult>;

const plain = <E extends string>(event: E) => Type.Object({ event: Type.Literal(event) });
/**
 * Helper to backend. `ready`: the helper reads commands. `scan_stopped` also comes when the scan ends because of the adapter, and
 * `scan_started` when it runs again: the latest `start_scan` holds until `stop_scan`.
 */
export const HelperEvent = Type.Union([
  plain('ready'),
  plain('scan_started'),
  plain('scan_stopped'),
  Discovered,
  WriteResult,
]);
export type HelperEvent = Static<typeof HelperEvent>;

/** `ready`: an adapter is powered on, and BlueZ answers. */
export const radioStates = ['ready', 'adapter_missing', 'adapter_off', 'adapter_blocked', 'bluetooth_stopped'] as const;
export type RadioState = (typeof radioStates)[number];

/** A note of the helper on standard error. `line_ignored`: a line that is no frame; the text of the line is never repeated. */
export const HelperNote = Type.Union([
  Type.Object({ note: Type.Literal('radio'), state: Type.Enum([...radioStates]) }),
  Type.Object({ note: Type.Literal('line_ignored'), reason: Type.String({ maxLength: 200 }) }),
  Type.Object({ note: Type.Literal('log'), message: Type.String({ maxLength: 500 }) }),
]);
export type HelperNote = Static<typeof HelperNote>;

import { improvCommandUuid } from '@station/protocol/ble-frames';

/** The device's side of Improv Wi-Fi over BLE (improv-wifi.com, "Improv via BLE"). */
export type ImprovDevice = {
  /** Of state, error, result and capabilities. */
  read(uuid: string): Buffer;
  /** A part of a command frame. */
  write(part: Buffer): void;
  /** The device has joined the network, or could not. */
  finish(isJoined: boolean): void;
  /** State and capabilities, as it advertises them. */
  serviceData(): Buffer;
  /** Waits for credentials again. */
  reset(): void;
};

const uuid = (end: number): string => improvCommandUuid.replace(/.$/, String(end));
const stateUuid = uuid(1);
const errorUuid = uuid(2);
const resultUuid = uuid(4);
const state = { authorized: 2, provisioning: 3, provisioned: 4 } as const;
const error = { none: 0, invalidFrame: 1, unknownCommand: 2, unableToConnect: 3 } as const;
const wifiCommand = 1;
const noCapabilities = Buffer.from([0]);

export function createImprov(options: {
  notify: (uuid: string, value: Buffer) => void;
  onCredentials: (credentials: { ssid: string; password: string }) => void;
}): ImprovDevice {
  const values = new Map<string, Buffer>();
  let received = Buffer.alloc(0);
  const reset = (): void => {
    received = Buffer.alloc(0);
    values.clear();
    values.set(stateUuid, Buffer.from([state.authorized])).set(errorUuid, Buffer.from([error.none]));
    values.set(uuid(5), noCapabilities);
  };
  const set = (name: string, value: Buffer): void => {
    values.set(name, value);
    options.notify(name, value);
  };
  reset();
  return {
    reset,
    read: (name) => values.get(name) ?? Buffer.alloc(0),
    write: (part) => {
      received = Buffer.concat([received, part]);
      const [command = 0, length = 0] = received;
      if (received.length < 2 || received.length < length + 3) return;
      const frame = received.subarray(0, length + 3);
      received = Buffer.alloc(0);
      const credentials = readWifi(frame);
      if (sumOf(frame.subarray(0, -1)) !== frame.at(-1) || credentials === null)
        return set(errorUuid, Buffer.from([command === wifiCommand ? error.invalidFrame : error.unknownCommand]));
      set(errorUuid, Buffer.from([error.none]));
      set(stateUuid, Buffer.from([state.provisioning]));
      options.onCredentials(credentials);
    },
    finish: (isJoined) => {
      if (isJoined) {
        set(stateUuid, Buffer.from([state.provisioned]));
        const frame = Buffer.from([wifiCommand, 0]);
        set(resultUuid, Buffer.concat([frame, Buffer.from([sumOf(frame)])]));
      } else {
        set(errorUuid, Buffer.from([error.unableToConnect]));
        set(stateUuid, Buffer.from([state.authorized]));
      }
    },
    serviceData: () => Buffer.concat([values.get(stateUuid) ?? noCapabilities, noCapabilities, Buffer.alloc(4)]),
  };
}

/** `[command][length][length of the name][name][length of the password][password][sum]`. */
function readWifi(frame: Buffer): { ssid: string; password: string } | null {
  if (frame[0] !== wifiCommand) return null;
  const ssidLength = frame[2] ?? 0;
  const ssid = frame.subarray(3, 3 + ssidLength).toString();
  const passwordLength = frame[3 + ssidLength] ?? 0;
  const end = 4 + ssidLength + passwordLength;
  return end === frame.length - 1 ? { ssid, password: frame.subarray(4 + ssidLength, end).toString() } : null;
}

const sumOf = (bytes: Buffer): number => bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0);

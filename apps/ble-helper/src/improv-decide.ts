import type { BleError } from '@station/protocol/ble-frames';

/** Improv Wi-Fi over BLE (improv-wifi.com, "Improv via BLE"): characteristics, frames and what they mean. Pure. */

export const improvUuids = {
  state: '00467768-6228-2272-4663-277478268001',
  error: '00467768-6228-2272-4663-277478268002',
  result: '00467768-6228-2272-4663-277478268004',
} as const;

export const improvStates = { authorizationRequired: 1, authorized: 2, provisioning: 3, provisioned: 4 } as const;
export const improvErrors = { none: 0, unableToConnect: 3, notAuthorized: 4 } as const;

const sendWifi = 1;
const maxData = 255;

/**
 * The command that hands over a Wi-Fi network: command, length, length and bytes of the name, length and bytes of the password, and the
 * lowest byte of the sum.
 * @param payload `{ ssid, password }` as JSON.
 * @returns null when it is something else, or too long.
 */
export function improvCommand(payload: string): Uint8Array | null {
  const wifi = readWifi(payload);
  if (wifi === null) return null;
  const utf8 = new TextEncoder();
  const ssid = utf8.encode(wifi.ssid);
  const password = utf8.encode(wifi.password);
  const data = [ssid.length, ...ssid, password.length, ...password];
  if (ssid.length === 0 || data.length > maxData) return null;
  const frame = [sendWifi, data.length, ...data];
  return Uint8Array.from([...frame, frame.reduce((sum, byte) => sum + byte, 0) & 0xff]);
}

function readWifi(payload: string): { ssid: string; password: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('ssid' in value) || !('password' in value)) return null;
  const { ssid, password } = value;
  return typeof ssid === 'string' && typeof password === 'string' ? { ssid, password } : null;
}

export type ImprovFacts = {
  /** Last state; null: not known, or older than the command. */
  state: number | null;
  /** Last error since the command was written, over whichever connection; 0: none. */
  error: number;
  /** The device has answered the command with a result. */
  hasResult: boolean;
  /** The command was written over this connection. */
  hasWritten: boolean;
  /** The command was written over an earlier connection of this operation. */
  hadWritten: boolean;
  /** The time in which a person may authorize is over. */
  isAuthorizationOver: boolean;
};

export type ImprovStep = { kind: 'wait' } | { kind: 'write' } | { kind: 'done' } | { kind: 'failed'; error: BleError };

/** The next step of the exchange. */
export function decideImprov(facts: ImprovFacts): ImprovStep {
  const { state, error, hasWritten, hadWritten } = facts;
  if (error !== improvErrors.none) return { kind: 'failed', error: errorOf(error) };
  const isProvisioned = state === improvStates.provisioned;
  if (hasWritten) return isProvisioned || facts.hasResult ? { kind: 'done' } : { kind: 'wait' };
  // The link broke after the command had arrived.
  if (hadWritten && isProvisioned) return { kind: 'done' };
  if (hadWritten && state === improvStates.provisioning) return { kind: 'wait' };
  if (state !== improvStates.authorizationRequired) return { kind: 'write' };
  return facts.isAuthorizationOver ? { kind: 'failed', error: 'improv_not_authorized' } : { kind: 'wait' };
}

function errorOf(code: number): BleError {
  if (code === improvErrors.unableToConnect) return 'improv_wrong_credentials';
  return code === improvErrors.notAuthorized ? 'improv_not_authorized' : 'improv_refused';
}

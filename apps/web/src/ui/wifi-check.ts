import { type Security, type WifiPasswordProblem, wifiPasswordProblem } from '@station/protocol/wifi-password';

export type WifiFaults = { ssid: 'required' | null; password: WifiPasswordProblem | null };
export const noWifiFaults: WifiFaults = { ssid: null, password: null };

/**
 * What is wrong with a network. An open one must be confirmed: an empty password field may only mean that a person changed the name and
 * expected the password to stay.
 * @param security null: not known. The station may know it, and refuse what this cannot.
 */
export function checkWifi(
  { ssid, password }: { ssid: string; password: string },
  isOpen: boolean,
  security: Security | null = null,
): WifiFaults {
  return {
    ssid: ssid === '' ? 'required' : null,
    password: isOpen ? null : wifiPasswordProblem(security, password, { mayBeOpen: false }),
  };
}

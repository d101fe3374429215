/** IEEE 802.11: a passphrase has 8 to 63 characters, or 64 hexadecimal digits. */
const shortestKey = 8;

export type WifiFaults = { ssid: 'required' | null; password: 'missing' | 'short' | null };
export const noWifiFaults: WifiFaults = { ssid: null, password: null };

/**
 * What is wrong with the network for new devices. An open network must be confirmed: an empty password field may only mean that
 * a person changed the name and expected the password to stay.
 */
export function checkWifi({ ssid, password }: { ssid: string; password: string }, isOpen: boolean): WifiFaults {
  const faultOfPassword = password === '' ? 'missing' : password.length < shortestKey ? 'short' : null;
  return { ssid: ssid === '' ? 'required' : null, password: isOpen ? null : faultOfPassword };
}

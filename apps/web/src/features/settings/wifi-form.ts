/** IEEE 802.11: a passphrase has 8 to 63 characters, or 64 hexadecimal digits. */
const shortestKey = 8;

/**
 * What is wrong with a network that is to be told to devices. That it has no password must be said: a field left empty may only mean that
 * somebody changed the name and expected the password to stay.
 */
export function checkWifi(
  { ssid, password }: { ssid: string; password: string },
  isOpen: boolean,
): { ssid: 'required' | null; password: 'missing' | 'short' | null } {
  const faultOfPassword = password === '' ? 'missing' : password.length < shortestKey ? 'short' : null;
  return { ssid: ssid === '' ? 'required' : null, password: isOpen ? null : faultOfPassword };
}

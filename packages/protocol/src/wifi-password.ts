/** How a network is secured. `enterprise` and `wep` cannot be joined. */
export const securities = ['open', 'owe', 'wep', 'wpa2', 'wpa3', 'wpa2-wpa3', 'enterprise'] as const;
export type Security = (typeof securities)[number];

/** Joined without a password. */
export const isFree = (security: Security | null): boolean => security === 'open' || security === 'owe';

export const wifiPasswordProblems = [
  'enterprise',
  'wep',
  'password_missing',
  'password_length',
  'password_characters',
  'password_too_long',
] as const;
export type WifiPasswordProblem = (typeof wifiPasswordProblems)[number];

/** Bytes in UTF-8 of a passphrase of WPA2: NetworkManager and wpa_supplicant count bytes, and refuse only control characters. */
export const passphraseBytes = { least: 8, most: 63 } as const;
/** The key itself in place of a passphrase of WPA2 (IEEE 802.11-2020, J.4.1). */
export const wifiKeyDigits = 64;
/** Bytes in UTF-8. SAE itself has no limit (IEEE 802.11-2020, 12.4.3). */
export const longestWifiPassword = 128;

/** The name of a network has at most 32 bytes in UTF-8 (IEEE 802.11-2020, 9.4.2.2). */
export const longestSsid = 32;
export const ssidText = { minLength: 1, maxLength: longestSsid } as const;
export const isSsidTooLong = (ssid: string): boolean => bytesOf(ssid) > longestSsid;

/**
 * What is wrong with the password of a network; null: nothing. The one rule of installer, setup page, agent, backend and web app.
 * WPA2, and WPA2 beside WPA3, take 8 to 63 bytes without control characters or 64 hexadecimal digits; WPA3 alone takes 1 to 128.
 * @param security null: not known. Then only what no network takes is wrong.
 * @param options.mayBeOpen a network of unknown security may turn out to have no password.
 */
export function wifiPasswordProblem(
  security: Security | null,
  password: string,
  { mayBeOpen }: { mayBeOpen: boolean },
): WifiPasswordProblem | null {
  switch (security) {
    case 'open':
    case 'owe':
      return null;
    case 'enterprise':
    case 'wep':
      return security;
    case 'wpa2':
    case 'wpa2-wpa3':
      if (password === '') return 'password_missing';
      return isKey(password) ? null : problemOfPassphrase(password);
    case 'wpa3':
    case null:
      if (password === '') return security === null && mayBeOpen ? null : 'password_missing';
      if (password.includes('\0')) return 'password_characters';
      return bytesOf(password) > longestWifiPassword ? 'password_too_long' : null;
  }
}

/**
 * The same for a network of which only the name is known.
 * @param seen the security of each network of that name in range; none: not known.
 */
export function wifiPasswordProblemAmong(
  seen: readonly Security[],
  password: string,
  options: { mayBeOpen: boolean },
): WifiPasswordProblem | null {
  const withPassword = seen.filter((security) => !isFree(security));
  const problems = withPassword.map((security) => wifiPasswordProblem(security, password, options));
  const [first = wifiPasswordProblem(null, password, options)] = problems;
  return problems.includes(null) ? null : first;
}

/** To try where the security is not known. With a passphrase NetworkManager uses SAE too, if access point and radio can do it. */
export const likelySecurity = (password: string | null): 'open' | 'wpa2-wpa3' | 'wpa3' => {
  if (password === null) return 'open';
  return wifiPasswordProblem('wpa2', password, { mayBeOpen: false }) === null ? 'wpa2-wpa3' : 'wpa3';
};

function problemOfPassphrase(password: string): WifiPasswordProblem | null {
  const bytes = bytesOf(password);
  if (bytes < passphraseBytes.least || bytes > passphraseBytes.most) return 'password_length';
  return hasControlCharacter(password) ? 'password_characters' : null;
}

const isKey = (password: string): boolean => password.length === wifiKeyDigits && /^[0-9a-f]+$/i.test(password);
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
/** Of ASCII, as wpa_supplicant sees them: it reads bytes. */
const hasControlCharacter = (text: string): boolean =>
  [...text].some((character) => character < ' ' || character === '\u007f');

/** Whether this page can have passkeys; if not, what is missing. */
export type PasskeyPlace = 'possible' | 'no_https' | 'no_name' | 'no_browser';

/** Browsers have passkeys for a host name over HTTPS, never for an address (https://www.w3.org/TR/webauthn-3/, "Relying Party Identifier"). */
export function passkeyPlace(
  { protocol, hostname }: { protocol: string; hostname: string },
  browser: { PublicKeyCredential?: unknown },
): PasskeyPlace {
  if (protocol !== 'https:') return 'no_https';
  if (hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname)) return 'no_name';
  return browser.PublicKeyCredential === undefined ? 'no_browser' : 'possible';
}

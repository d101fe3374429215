/** Where a page is open, as `location` says. */
type Place = Pick<Location, 'protocol' | 'hostname' | 'port' | 'pathname' | 'search' | 'hash'>;

/** The certificate of the station's authority; the proxy serves it when HTTPS is on. */
export const certificatePath = '/ca.crt';
const certificateType = 'application/x-x509-ca-cert';

/** Whether the connection is encrypted, or could be. */
export type Encryption = 'on' | 'possible' | 'off';

/** The same page over HTTPS. Null: this is it, or the ports are not the usual ones. */
export function secureTwin({ protocol, hostname, port, pathname, search, hash }: Place): string | null {
  return protocol === 'http:' && port === '' ? `https://${hostname}${pathname}${search}${hash}` : null;
}

/** @throws when the station does not answer. */
export async function readEncryption(place: Place, ask: typeof fetch): Promise<Encryption> {
  if (place.protocol === 'https:') return 'on';
  const { ok, headers } = await ask(certificatePath, { method: 'HEAD', cache: 'no-store' });
  return ok && headers.get('content-type') === certificateType ? 'possible' : 'off';
}

/** Whether this browser trusts the certificate of the station: a page over HTTP may ask, and reads nothing. */
export async function isTrusted(address: string, ask: typeof fetch): Promise<boolean> {
  const url = new URL(certificatePath, address).href;
  return ask(url, { mode: 'no-cors', cache: 'no-store', signal: AbortSignal.timeout(4000) }).then(
    () => true,
    () => false,
  );
}

/** Continues over HTTPS where the browser trusts the station, unless the person does something here already. */
export async function leadOver(page: Window, ask: typeof fetch): Promise<void> {
  const twin = secureTwin(page.location);
  if (twin === null) return;
  let isInUse = false;
  const note = (): void => void (isInUse = true);
  for (const kind of ['pointerdown', 'keydown'] as const)
    page.addEventListener(kind, note, { once: true, capture: true });
  if ((await isTrusted(twin, ask)) && !isInUse) page.location.replace(secureTwin(page.location) ?? twin);
}

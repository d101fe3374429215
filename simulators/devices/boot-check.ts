import type { Flash, FlashStore } from './flash.ts';
import type { Ota, OtaOrder } from './ota.ts';

/** A device at the station's HTTP interface (contracts, section 9). */
export type OtaAccount = {
  /** Base URL of the station. */
  server: string;
  externalId: string;
  type: string;
  chip: string;
  token: string;
};

export type BootCheck = {
  /** At each start: reports how the last installation ended, then asks once for a new version and installs it. */
  run(isStillOn: () => boolean): Promise<void>;
  /** The installation has failed. */
  reportFailure(): Promise<void>;
};

type Offer = OtaOrder & { firmwareId: string };

const answerTimeoutMs = 10_000;
/** The installation whose end is not yet reported. */
const installName = 'ota-install';

/** How a device of the field finds firmware over HTTP. A request that fails is not repeated. */
export function createBootCheck(
  account: OtaAccount,
  { flash, store, ota }: { flash: Flash; store: FlashStore; ota: () => Ota },
): BootCheck {
  const reportInstall = async (): Promise<void> => {
    const text = store.read(installName);
    if (text === null) return;
    store.remove(installName);
    const { firmwareId, version } = JSON.parse(text.toString('utf8')) as Offer;
    const status = flash.running().version === version ? 'success' : 'failed';
    const body = JSON.stringify({ deviceId: account.externalId, firmwareId, status });
    const headers = { 'content-type': 'application/json' };
    await send(account, new URL('/api/ota/report', account.server), { method: 'POST', headers, body });
  };
  return {
    run: async (isStillOn) => {
      await reportInstall();
      // While an image is on trial, the previous one must not be overwritten.
      if (flash.running().isOnTrial) return;
      const offer = await askForOffer(account, flash.running().version);
      if (offer === null || !isStillOn()) return;
      store.replace(installName, Buffer.from(JSON.stringify(offer)));
      ota().start(offer);
    },
    reportFailure: reportInstall,
  };
}

/** @returns null when there is no update, or no station. */
async function askForOffer(account: OtaAccount, runningVersion: string): Promise<Offer | null> {
  const url = new URL('/api/ota/check', account.server);
  const query = { device_id: account.externalId, device_type: account.type, chip: account.chip };
  url.search = new URLSearchParams({ ...query, current_version: runningVersion }).toString();
  const response = await send(account, url, {});
  const body = (await response?.json().catch(() => null)) as Record<string, unknown> | null | undefined;
  if (body?.['updateAvailable'] !== true) return null;
  const { version, downloadUrl, firmwareId, checksum, size } = body;
  return {
    url: new URL(String(downloadUrl), account.server).href,
    version: String(version),
    firmwareId: String(firmwareId),
    checksum: String(checksum),
    size: Number(size),
  };
}

async function send({ token }: OtaAccount, url: URL, init: RequestInit): Promise<Response | null> {
  try {
    const headers = new Headers(init.headers);
    headers.set('x-device-token', token);
    const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(answerTimeoutMs) });
    return response.ok ? response : null;
  } catch {
    return null;
  }
}

import { readFirmwareManifest, type FirmwareEntry, type FirmwareRefusal } from '@station/protocol/firmware-manifest';
import { maxManifestBytes } from '@station/protocol/release-manifest';
import type { SigningKey } from '../config/values.ts';
import { checkSignature, type FetchFile } from '../core/signature.ts';

export type FirmwareCheck =
  | { kind: 'ok'; entries: FirmwareEntry[]; refused: FirmwareRefusal[] }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string; /** No manifest is published there. */ missing: boolean };

export type FirmwareSource = {
  isSigned: boolean;
  /** Fetches the manifest when it has changed, checks it, and verifies it when a public key is set. */
  check(signal: AbortSignal): Promise<FirmwareCheck>;
};

/** The firmware manifest at FIRMWARE_MANIFEST_URL. */
export function createFirmwareSource(parts: {
  url: URL;
  publicKey: SigningKey | null;
  maxBytes: number;
  fetchFile: FetchFile;
}): FirmwareSource {
  const { url, publicKey, maxBytes, fetchFile } = parts;
  let last: { etag: string | null; check: FirmwareCheck & { kind: 'ok' } } | null = null;
  return {
    isSigned: publicKey !== null,
    check: async (signal) => {
      const answer = await fetchFile(url, { maxBytes: maxManifestBytes, etag: last?.etag ?? null, signal });
      if (answer.kind === 'not_modified') {
        if (last) return last.check;
        const reason = 'the server says "not modified" to a first request';
        return { kind: 'unavailable', reason, missing: false };
      }
      if (answer.kind === 'unavailable') return { ...answer, missing: answer.missing === true };
      if (answer.kind === 'rejected') return answer;
      // After a redirect, files are beside where the manifest really is.
      const reading = readFirmwareManifest(answer.bytes, { manifestUrl: answer.url, maxBytes });
      if (reading.kind === 'rejected') return reading;
      const fault = publicKey && (await checkSignature({ url, publicKey, fetchFile }, answer.bytes, signal));
      if (fault) return { missing: false, ...fault };
      last = { etag: answer.etag, check: reading };
      return reading;
    },
  };
}

import { StationError } from '@station/kit/station-error';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { maxManifestBytes, readReleaseManifest } from '@station/protocol/release-manifest';
import { compareVersions, parseVersion } from '@station/protocol/version';
import type { SigningKey } from '@station/kit/config-values';
import { checkSignature, type FetchFile } from '../core/signature.ts';

export type ReleaseCheck =
  | { kind: 'ok'; manifest: ReleaseManifest; /** True when this content is new. */ changed: boolean }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string };

export type ReleaseSourceParts = {
  url: URL;
  publicKey: SigningKey | null;
  fetchFile: FetchFile;
  /** Services of the stack's compose file; throws while they cannot be read. */
  knownServices: () => Promise<readonly string[]>;
};

/** The release manifest at UPDATE_SERVER_URL: fetched when it changed, checked, and verified when a public key is set. */
export function createReleaseSource({ url, publicKey, fetchFile, knownServices }: ReleaseSourceParts) {
  let last: { etag: string | null; manifest: ReleaseManifest } | null = null;
  return {
    isSigned: publicKey !== null,
    /** The manifest of the last successful check; null before it. */
    latest: (): ReleaseManifest | null => last?.manifest ?? null,
    check: async (highestSignedVersion: string | null, signal: AbortSignal): Promise<ReleaseCheck> => {
      const answer = await fetchFile(url, { maxBytes: maxManifestBytes, etag: last?.etag ?? null, signal });
      if (answer.kind === 'not_modified') {
        if (last) return { kind: 'ok', manifest: last.manifest, changed: false };
        return { kind: 'unavailable', reason: 'the server answered "not modified" to a first request' };
      }
      if (answer.kind !== 'ok') return answer;
      const services = await readServices();
      const reading = readReleaseManifest(answer.bytes, services.kind === 'ok' ? services.names : null);
      if (reading.kind === 'rejected') return reading;
      // Do not keep the ETag of a partly checked manifest: "not modified" would then skip the rest of the checks.
      if (services.kind === 'unavailable') return services;
      if (publicKey) {
        const fault = await findSignatureFault(answer.bytes, reading.manifest, highestSignedVersion, signal);
        if (fault) return fault;
      }
      const changed = last === null || JSON.stringify(last.manifest) !== JSON.stringify(reading.manifest);
      last = { etag: answer.etag, manifest: reading.manifest };
      return { kind: 'ok', manifest: reading.manifest, changed };
    },
  };

  async function readServices(): Promise<
    { kind: 'ok'; names: readonly string[] } | Extract<ReleaseCheck, { kind: 'unavailable' }>
  > {
    try {
      return { kind: 'ok', names: await knownServices() };
    } catch (error) {
      const reason = error instanceof StationError ? error.message : 'those of the stack cannot be read';
      return { kind: 'unavailable', reason: `its services cannot be checked: ${reason}` };
    }
  }

  async function findSignatureFault(
    bytes: Uint8Array,
    manifest: ReleaseManifest,
    highest: string | null,
    signal: AbortSignal,
  ): Promise<Exclude<ReleaseCheck, { kind: 'ok' }> | null> {
    const fault = publicKey && (await checkSignature({ url, publicKey, fetchFile }, bytes, signal));
    if (fault) return fault;
    const floor = highest === null ? null : parseVersion(highest);
    const version = parseVersion(manifest.version);
    if (floor && version && compareVersions(version, floor) < 0) {
      return { kind: 'rejected', reason: 'signed, but older than a manifest seen before' };
    }
    return null;
  }
}

export type ReleaseSource = ReturnType<typeof createReleaseSource>;

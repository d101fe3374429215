import { StationError } from '@station/kit/station-error';
import type { ReleaseManifest, StackServices } from '@station/protocol/release-manifest';
import { maxManifestBytes, readReleaseManifest } from '@station/protocol/release-manifest';
import { formatKeyId, type SigningKey } from '@station/protocol/signing-key';
import { compareVersions, parseVersion } from '@station/protocol/version';
import { isForgeable } from '../core/loopback.ts';
import { checkSignature, type FetchFile } from '../core/signature.ts';
import type { UpdateKeys } from '../core/update-keys.ts';

export type ReleaseCheck =
  | { kind: 'ok'; manifest: ReleaseManifest; /** True when this content is new. */ changed: boolean }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string; /** The wait that the server asks for. */ retryAfterMs?: number };

export type ReleaseSourceParts = {
  url: URL;
  /** Null: manifests are not signed. */
  keys: UpdateKeys | null;
  fetchFile: FetchFile;
  /** Services of the stack's compose file; throws while they cannot be read. */
  services: () => Promise<StackServices>;
};

type Unusable = Exclude<ReleaseCheck, { kind: 'ok' }>;
type Read =
  | { kind: 'ok'; manifest: ReleaseManifest; /** Null: not signed. */ signer: SigningKey | null }
  | (Unusable & { isOfUnknownKey?: boolean });

/** More than a station can have missed: each step of a rotation is a key. */
const mostKeysFollowed = 8;

/** The release manifest at UPDATE_SERVER_URL: fetched when it changed, checked, and verified when public keys are set. */
export function createReleaseSource(parts: ReleaseSourceParts) {
  const { url, keys, fetchFile } = parts;
  let last: { etag: string | null; manifest: ReleaseManifest } | null = null;
  return {
    isSigned: keys !== null,
    /** Others on the network could write the manifest (contracts, section 1). */
    isForgeable: isForgeable(url, keys),
    /** The manifest of the last successful check; null before it. */
    latest: (): ReleaseManifest | null => last?.manifest ?? null,
    check: async (highestSignedVersion: string | null, signal: AbortSignal): Promise<ReleaseCheck> => {
      const answer = await fetchFile(url, { maxBytes: maxManifestBytes, etag: last?.etag ?? null, signal });
      if (answer.kind === 'not_modified') {
        if (last) return { kind: 'ok', manifest: last.manifest, changed: false };
        return notModified;
      }
      if (answer.kind !== 'ok') return answer;
      let reading = await readChecked(parts, url, answer.bytes, signal);
      if (reading.kind === 'rejected' && reading.isOfUnknownKey) {
        await followKeys(parts, highestSignedVersion, signal);
        reading = await readChecked(parts, url, answer.bytes, signal);
      }
      if (reading.kind !== 'ok') return reading;
      const { manifest, signer } = reading;
      if (signer !== null && isOlder(manifest, highestSignedVersion)) {
        return { kind: 'rejected', reason: 'signed, but older than a manifest seen before' };
      }
      // Before anything remembers the manifest: after a crash it is read again, with its next key.
      if (signer !== null) await learnKey(keys, manifest, signer);
      const changed = last === null || JSON.stringify(last.manifest) !== JSON.stringify(manifest);
      last = { etag: answer.etag, manifest };
      return { kind: 'ok', manifest, changed };
    },
    /** The manifest of one version, `releases/<version>.json` beside the latest one, checked in the same way. It may be older. */
    find: async (version: string, signal: AbortSignal): Promise<Read> => {
      const address = new URL(`releases/${encodeURIComponent(version)}.json`, url);
      const answer = await fetchFile(address, { maxBytes: maxManifestBytes, etag: null, signal });
      if (answer.kind === 'not_modified') return notModified;
      if (answer.kind !== 'ok') return answer;
      const reading = await readChecked(parts, address, answer.bytes, signal);
      if (reading.kind !== 'ok' || reading.manifest.version === version) return reading;
      return { kind: 'rejected', reason: `it is the manifest of ${reading.manifest.version}` };
    },
  };
}

const notModified: Unusable = {
  kind: 'unavailable',
  reason: 'the server answered "not modified" to a first request',
};

async function readChecked(
  { keys, fetchFile, services }: ReleaseSourceParts,
  url: URL,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<Read> {
  const known = await readServices(services);
  const reading = readReleaseManifest(bytes, known.kind === 'ok' ? known.services : null);
  if (reading.kind === 'rejected') return reading;
  // A partly checked manifest must not be kept with its ETag: "not modified" would then skip the rest of the checks.
  if (known.kind === 'unavailable') return known;
  const { manifest } = reading;
  if (keys === null) return { kind: 'ok', manifest, signer: null };
  const signature = await checkSignature({ url, keys: await keys.trusted(), fetchFile }, bytes, signal);
  return signature.kind === 'ok' ? { kind: 'ok', manifest, signer: signature.signer } : signature;
}

/**
 * Learns the keys of a rotation that the station was off for. `keys/<id>.json` beside the manifest is the last manifest that this key
 * signed to name the next one; it is believed as if it had been read in its time. What cannot be read or believed is left out.
 */
async function followKeys(parts: ReleaseSourceParts, highest: string | null, signal: AbortSignal): Promise<void> {
  const { url, keys, fetchFile } = parts;
  const followed = new Set<string>();
  while (keys !== null && followed.size < mostKeysFollowed) {
    const signer = (await keys.trusted()).find(({ text }) => !followed.has(text));
    if (signer === undefined) return;
    followed.add(signer.text);
    const address = new URL(`keys/${formatKeyId(signer.keyId)}.json`, url);
    const answer = await fetchFile(address, { maxBytes: maxManifestBytes, etag: null, signal });
    if (answer.kind !== 'ok') continue;
    const reading = readReleaseManifest(answer.bytes, null);
    if (reading.kind === 'rejected' || isOlder(reading.manifest, highest)) continue;
    const signature = await checkSignature({ url: address, keys: [signer], fetchFile }, answer.bytes, signal);
    if (signature.kind === 'ok') await learnKey(keys, reading.manifest, signer);
  }
}

async function learnKey(keys: UpdateKeys | null, manifest: ReleaseManifest, signer: SigningKey): Promise<void> {
  const { version, nextPublicKey } = manifest;
  if (nextPublicKey !== null) await keys?.learn({ version, nextPublicKey }, signer);
}

async function readServices(
  services: ReleaseSourceParts['services'],
): Promise<{ kind: 'ok'; services: StackServices } | Extract<ReleaseCheck, { kind: 'unavailable' }>> {
  try {
    return { kind: 'ok', services: await services() };
  } catch (error) {
    const reason = error instanceof StationError ? error.message : 'those of the stack cannot be read';
    return { kind: 'unavailable', reason: `its services cannot be checked: ${reason}` };
  }
}

function isOlder(manifest: ReleaseManifest, highest: string | null): boolean {
  const floor = highest === null ? null : parseVersion(highest);
  const version = parseVersion(manifest.version);
  return floor !== null && version !== null && compareVersions(version, floor) < 0;
}

export type ReleaseSource = ReturnType<typeof createReleaseSource>;

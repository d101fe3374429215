import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parseImageReference, withTag } from './image-reference.ts';
import { withoutNulls } from './json-keys.ts';
import { setOwnValue } from './own-value.ts';
import { parseSigningKey } from './signing-key.ts';
import { errorWords } from './schema-words.ts';
import { parseVersion } from './version.ts';

/** Largest release or firmware manifest read, in bytes (contracts, section 0). */
export const maxManifestBytes = 1024 * 1024;

/** The published shape (contracts, section 1). Unknown keys are ignored: manifests grow. */
const ReleaseManifestBody = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 128 }),
  images: Type.Record(Type.String(), Type.String()),
  notes: Type.Optional(Type.String({ maxLength: 16384 })),
  releasedAt: Type.Optional(Type.String({ maxLength: 64 })),
  minAgentVersion: Type.Optional(Type.String({ maxLength: 128 })),
  rollout: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  nextPublicKey: Type.Optional(Type.String({ maxLength: 256 })),
});

export type ReleaseManifest = {
  /** Canonical SemVer, without a leading `v`. */
  version: string;
  /** Compose service → image reference; each one is checked. */
  images: Record<string, string>;
  notes: string | null;
  releasedAt: string | null;
  minAgentVersion: string | null;
  /** 0 to 100; default 100. */
  rollout: number;
  /** Minisign public key (its base64 line) that will sign later manifests. */
  nextPublicKey: string | null;
};

export type ManifestReading = { kind: 'ok'; manifest: ReleaseManifest } | { kind: 'rejected'; reason: string };

const serviceName = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$/;
/** Services of the compose file that the product ships. An owner may have removed some from theirs. */
const shippedServices = ['backend', 'frontend', 'mqtt', 'postgres', 'proxy'];

/** Services of the compose file of a station. */
export type StackServices = {
  /** Those that run here. */
  running: readonly string[];
  /** All, with those in profiles that are off and those without replicas. */
  declared: readonly string[];
};

/**
 * Reads the exact bytes of a release manifest.
 * @param services null when the compose file was not read.
 */
export function readReleaseManifest(bytes: Uint8Array, services: StackServices | null): ManifestReading {
  if (bytes.byteLength > maxManifestBytes) return rejected(`larger than ${maxManifestBytes} bytes`);
  let body: unknown;
  try {
    body = withoutNulls(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch {
    return rejected('not JSON');
  }
  if (!Value.Check(ReleaseManifestBody, body)) return rejected(firstFault(body));
  return checkManifest(body, services);
}

function checkManifest(body: Static<typeof ReleaseManifestBody>, services: StackServices | null): ManifestReading {
  const version = parseVersion(body.version);
  if (!version) return rejected('version is not SemVer 2.0.0');
  const images: Record<string, string> = {};
  for (const [service, text] of Object.entries(body.images)) {
    if (!serviceName.test(service)) return rejected('images has a key that is not a valid service name');
    if (services !== null && ![...services.declared, ...shippedServices].includes(service)) {
      return rejected(`images names "${service}", which is not a service of the compose file`);
    }
    if (!parseImageReference(text)) return rejected(`the image reference of "${service}" ${faultOf(text)}`);
    setOwnValue(images, service, text);
  }
  if (Object.keys(images).length === 0) return rejected('images names no service');
  if (services !== null && !Object.keys(images).some((service) => services.running.includes(service))) {
    return rejected('images names no service that runs on this station');
  }
  if (body.minAgentVersion !== undefined && !parseVersion(body.minAgentVersion)) {
    return rejected('minAgentVersion is not SemVer 2.0.0');
  }
  if (body.nextPublicKey !== undefined && !parseSigningKey(body.nextPublicKey)) {
    return rejected('nextPublicKey is not the base64 line of a minisign public key');
  }
  return {
    kind: 'ok',
    manifest: {
      version: version.text,
      images,
      notes: body.notes ?? null,
      releasedAt: body.releasedAt ?? null,
      minAgentVersion: body.minAgentVersion ?? null,
      rollout: body.rollout ?? 100,
      nextPublicKey: body.nextPublicKey ?? null,
    },
  };
}

/**
 * The images of another version than the manifest's: its references with the tag replaced (contracts, section 1).
 * Null when a reference has a digest.
 */
export function imagesAtVersion(manifest: ReleaseManifest, version: string): Record<string, string> | null {
  const images: Record<string, string> = {};
  for (const [service, text] of Object.entries(manifest.images)) {
    const reference = parseImageReference(text);
    // A tag cannot contain build metadata: `+` is not in its alphabet.
    const retagged = reference && withTag(reference, version.replaceAll('+', '-'));
    if (retagged === null || !parseImageReference(retagged)) return null;
    setOwnValue(images, service, retagged);
  }
  return images;
}

/** OCI knows more algorithms; what the station remembers of images, to find and to repair them, is all in sha256. */
const faultOf = (reference: string): string =>
  /@(?!sha256:)[a-z0-9+._-]+:/.test(reference) ? 'has a digest that is not sha256' : 'is not valid';

function rejected(reason: string): ManifestReading {
  return { kind: 'rejected', reason };
}

function firstFault(body: unknown): string {
  for (const fault of Value.Errors(ReleaseManifestBody, body)) {
    const words = errorWords(ReleaseManifestBody, fault);
    return `${fault.instancePath === '' ? 'the manifest' : fault.instancePath} ${words}`.slice(0, 200);
  }
  return 'not a release manifest';
}

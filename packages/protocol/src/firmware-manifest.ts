import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { normalizeChip } from './firmware-image.ts';
import { DeviceType, maxDeviceTypeBytes } from './device-types.ts';
import { canonicalFirmwareName, isFirmwareName, parseFirmwareName } from './firmware.ts';
import { ownValue } from './own-value.ts';
import { maxManifestBytes } from './release-manifest.ts';
import { errorWords } from './schema-words.ts';
import { topLevelKeys, withoutNulls } from './json-keys.ts';
import { parseVersion } from './version.ts';

/** One firmware of a manifest (contracts, section 2). Unknown keys are ignored: manifests grow. */
const Body = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 128 }),
  file: Type.String({ minLength: 1, maxLength: 2048 }),
  checksum: Type.String({ minLength: 1, maxLength: 128 }),
  size: Type.Optional(Type.Integer({ minimum: 1 })),
  chip: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
  minVersion: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
});

export type FirmwareEntry = {
  name: string;
  /** Canonical SemVer, without a leading `v`. */
  version: string;
  /** Absolute URL of the file. */
  url: string;
  /** `sha256:` and 64 lower-case hex digits. */
  checksum: string;
  /** Bytes; null when the manifest has none. */
  size: number | null;
  /** Normalised by {@link normalizeChip}; null when the manifest has none. */
  chip: string | null;
  minVersion: string | null;
};

export type FirmwareRefusal = { name: string; version: string | null; reason: string };

export type FirmwareManifestReading =
  | {
      kind: 'ok';
      entries: FirmwareEntry[];
      /** One bad entry does not affect the others. */
      refused: FirmwareRefusal[];
      /** Descriptions of device types, not checked yet; one for each type. */
      deviceTypes: Record<string, unknown>[];
    }
  | { kind: 'rejected'; reason: string };

export type FirmwareManifestLimits = {
  /** URL of the manifest; files are resolved against it. */
  manifestUrl: string;
  /** Largest firmware file, bytes. */
  maxBytes: number;
};

/** Limits the work for one manifest; no station has so many. */
const mostEntries = 1000;

/** Reads the exact bytes of a firmware manifest in either of its forms: a map by name, or a list under `types`. */
export function readFirmwareManifest(bytes: Uint8Array, limits: FirmwareManifestLimits): FirmwareManifestReading {
  if (bytes.byteLength > maxManifestBytes) return rejected(`larger than ${maxManifestBytes} bytes`);
  let text: string;
  let body: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    body = JSON.parse(text);
  } catch {
    return rejected('not JSON');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return rejected('not a JSON object');
  const listed = listEntries(body as Record<string, unknown>, text);
  if (listed.length > mostEntries) return rejected(`more than ${mostEntries} entries`);
  const taken = countNames(listed.map(([name]) => name));
  const entries: FirmwareEntry[] = [];
  const refused: FirmwareRefusal[] = [];
  for (const [name, value] of listed) {
    const reading = readEntry(name, value, limits, taken);
    if (typeof reading !== 'string') entries.push(reading);
    else if (!refused.some((each) => each.name === showName(name))) {
      refused.push({ name: showName(name), version: versionOf(value), reason: reading });
    }
  }
  return { kind: 'ok', entries, refused, deviceTypes: listDescriptions(listed) };
}

/** Pairs of name and value; a duplicate name appears twice. */
function listEntries(body: Record<string, unknown>, text: string): [string, unknown][] {
  const { types } = body;
  if (Array.isArray(types)) return types.map((item: unknown) => [canonicalFirmwareName(nameOf(item)), item]);
  // JSON.parse keeps only the last of two equal keys, which may be the wrong one.
  return topLevelKeys(text).map((name) => [canonicalFirmwareName(name), ownValue(body, name)]);
}

const descriptionKeys = Object.keys(DeviceType.properties).filter((key) => key !== 'type');

/** Entries may also describe their device type (contracts, section 8a). The backend checks what they say. */
function listDescriptions(listed: readonly [string, unknown][]): Record<string, unknown>[] {
  const found = new Map<string, Record<string, unknown>>();
  for (const [name, value] of listed) {
    if (!isFirmwareName(name) || typeof value !== 'object' || value === null || !('capabilities' in value)) continue;
    const { type } = parseFirmwareName(name);
    const own = Object.entries(value).filter(([key]) => descriptionKeys.includes(key));
    const description = { type, ...Object.fromEntries(own) };
    const bytes = new TextEncoder().encode(JSON.stringify(description)).length;
    if (!found.has(type) && bytes <= maxDeviceTypeBytes) found.set(type, description);
  }
  return [...found.values()];
}

function nameOf(item: unknown): string {
  const type: unknown = typeof item === 'object' && item !== null && 'type' in item ? item.type : undefined;
  return typeof type === 'string' ? type : '';
}

function countNames(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const key = canonicalFirmwareName(name.toLowerCase());
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Returns the entry, or the reason why it is refused. */
function readEntry(
  name: string,
  given: unknown,
  { manifestUrl, maxBytes }: FirmwareManifestLimits,
  taken: ReadonlyMap<string, number>,
): FirmwareEntry | string {
  if (!isFirmwareName(name)) return 'the type must have 1 to 64 of the characters a-z, 0-9, ".", "_" and "-"';
  const { chip: chipOfName } = parseFirmwareName(name);
  if ((taken.get(name) ?? 0) > 1) return 'the name occurs more than once (upper and lower case are equal)';
  const value = withoutNulls(given);
  if (!Value.Check(Body, value)) return firstFault(value);
  const version = parseVersion(value.version);
  if (!version) return 'the version is not SemVer 2.0.0';
  const hex = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(value.checksum)?.[1];
  if (hex === undefined) return 'the checksum is not "sha256:" and 64 hex digits';
  if (value.size !== undefined && value.size > maxBytes) return `larger than ${maxBytes} bytes`;
  if (value.minVersion !== undefined && !parseVersion(value.minVersion)) return 'minVersion is not SemVer 2.0.0';
  const chip = value.chip === undefined ? chipOfName : normalizeChip(value.chip);
  if (chipOfName !== null && chip !== chipOfName) return `for ${chip}, but its name says ${chipOfName}`;
  const address = resolveFile(value.file, manifestUrl);
  if (address.kind === 'refused') return address.reason;
  return {
    name,
    version: version.text,
    url: address.url,
    checksum: `sha256:${hex.toLowerCase()}`,
    size: value.size ?? null,
    chip,
    minVersion: value.minVersion === undefined ? null : (parseVersion(value.minVersion)?.text ?? null),
  };
}

/**
 * URL of a file: at the manifest's origin, or an absolute https URL. For a manifest on a USB stick the file is below
 * the manifest's folder.
 */
function resolveFile(
  file: string,
  manifestUrl: string,
): { kind: 'ok'; url: string } | { kind: 'refused'; reason: string } {
  const refuse = (reason: string) => ({ kind: 'refused', reason }) as const;
  if (/[\u0000-\u0020\u007f\\]/.test(file))
    return refuse('the file name has spaces, backslashes or control characters');
  if (file.split(/[/?#]/).some(isDots) || /%(2f|5c|00)/i.test(file))
    return refuse('the file name leads outside its folder');
  const base = new URL(manifestUrl);
  const url = URL.parse(file, base);
  if (url === null) return refuse('the file is not a valid URL');
  if (url.username !== '' || url.password !== '') return refuse('the URL of the file has a user name');
  url.hash = '';
  if (base.protocol === 'file:') {
    const folder = new URL('.', base).pathname;
    const below = url.protocol === 'file:' && url.host === base.host && url.pathname.startsWith(folder);
    if (below) return { kind: 'ok', url: url.href };
  } else if (url.origin === base.origin && url.protocol === base.protocol) {
    return { kind: 'ok', url: url.href };
  }
  if (file.toLowerCase().startsWith('https://')) return { kind: 'ok', url: url.href };
  return refuse('the file is neither at the origin of the manifest nor at an https URL');
}

const isDots = (segment: string): boolean => /^(\.|%2e){2}$/i.test(segment);

function versionOf(value: unknown): string | null {
  const version: unknown = typeof value === 'object' && value !== null && 'version' in value ? value.version : null;
  return typeof version === 'string' ? (parseVersion(version)?.text ?? null) : null;
}

/** A printable form of a name, which may be any text. */
const showName = (name: string): string => name.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 80);

function firstFault(value: unknown): string {
  for (const fault of Value.Errors(Body, value)) {
    const words = errorWords(Body, fault);
    return `${fault.instancePath === '' ? 'the entry' : fault.instancePath} ${words}`.slice(0, 200);
  }
  return 'not a firmware entry';
}

const rejected = (reason: string): FirmwareManifestReading => ({ kind: 'rejected', reason });

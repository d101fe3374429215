import { inspectImage, normalizeChip } from '@station/protocol/firmware-image';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';

/** The chip and name of an image; an ESP8266 image has no name. */
export type ImageFacts = { chip: string | null; project: string | null };

export type Verdict = ({ kind: 'ok' } & ImageFacts) | { kind: 'refused'; reason: string };

/** A complete file and what needs a Node module, which decisions must not import. */
export type WholeFile = {
  bytes: Uint8Array;
  sha256: (bytes: Uint8Array) => Uint8Array;
  /** @returns null when it is damaged or too large. */
  gunzip: (bytes: Uint8Array) => Uint8Array | null;
};

/**
 * Whether a complete file may be published: it is the file of the manifest and, as far as can be checked, an image that a device
 * can start.
 * @param before the cached version of the same firmware; null when there is none.
 * @param others the other items of the cache.
 */
export function verifyFirmware(
  { bytes, sha256, gunzip }: WholeFile,
  entry: FirmwareEntry,
  before: ImageFacts | null,
  others: readonly ImageFacts[] = [],
): Verdict {
  if (entry.size !== null && bytes.length !== entry.size) {
    return refused(`${bytes.length} bytes long instead of ${entry.size}`);
  }
  if (`sha256:${toHex(sha256(bytes))}` !== entry.checksum) return refused('the checksum is not that of the manifest');
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const content = isCompressed ? gunzip(bytes) : bytes;
  if (content === null) return refused('compressed, and it cannot be unpacked');
  const image = inspectImage(content, sha256);
  if (image.kind === 'refused') return image;
  const isEsp8266 = image.kind === 'esp8266';
  // The loader of an ESP8266 unpacks it.
  if (isCompressed && !isEsp8266) return refused('compressed, which only an ESP8266 loads');
  const chip = isEsp8266 ? 'esp8266' : image.chip;
  const project = isEsp8266 ? null : image.project;
  const wanted = entry.chip;
  const chipBefore = before?.chip ?? null;
  if (wanted !== null && wanted !== chip) return refused(`for ${chip} instead of ${wanted}`);
  if (wanted === null && chipBefore !== null && normalizeChip(chipBefore) !== chip) {
    return refused(
      `for ${chip}, but the previous version is for ${chipBefore}; name the chip in the manifest to allow it`,
    );
  }
  // Detects two files that were swapped at publication. Builds with equal names cannot show it.
  const isForeign = project !== null && before !== null && before.project !== null && before.project !== project;
  if (isForeign && others.some((other) => other.project === project)) {
    return refused(`the image of another firmware: its project is "${project}" instead of "${before.project}"`);
  }
  return { kind: 'ok', chip, project };
}

const refused = (reason: string): Verdict => ({ kind: 'refused', reason });

const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

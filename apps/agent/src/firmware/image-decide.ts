import { imageMagic, inspectImage, normalizeChip, type ImageInspection } from '@station/protocol/firmware-image';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';

/** The chip and name of an image; null when its format is unknown. */
export type ImageFacts = { chip: string | null; project: string | null };

export type Verdict = ({ kind: 'ok' } & ImageFacts) | { kind: 'refused'; reason: string };

/** A complete file and its hash. Hashing needs a Node module, which decisions must not import. */
export type HashedFile = { bytes: Uint8Array; sha256: (bytes: Uint8Array) => Uint8Array };

/**
 * Whether a complete file may be published: it is the file of the manifest and, as far as can be checked, an image that a device
 * can start.
 * @param before the cached version of the same firmware; null when there is none.
 * @param others the other items of the cache.
 */
export function verifyFirmware(
  { bytes, sha256 }: HashedFile,
  entry: FirmwareEntry,
  before: ImageFacts | null,
  others: readonly ImageFacts[] = [],
): Verdict {
  if (entry.size !== null && bytes.length !== entry.size) {
    return refused(`${bytes.length} bytes long instead of ${entry.size}`);
  }
  if (`sha256:${toHex(sha256(bytes))}` !== entry.checksum) return refused('the checksum is not that of the manifest');
  const image = inspectImage(bytes, sha256);
  const wanted = entry.chip;
  if (wanted === 'esp8266') return verifyEsp8266(bytes, image);
  if (image.kind === 'refused') return image;
  const chipBefore = before?.chip ?? null;
  if (image.kind === 'other') {
    const espExpected = (wanted ?? chipBefore ?? '').startsWith('esp32');
    return espExpected
      ? refused(`not an image for ${wanted ?? chipBefore}`)
      : { kind: 'ok', chip: wanted, project: null };
  }
  const { chip, project } = image;
  if (wanted !== null && wanted !== chip) return refused(`for ${chip} instead of ${wanted}`);
  if (wanted === null && chipBefore !== null && normalizeChip(chipBefore) !== chip) {
    return refused(
      `for ${chip}, but the previous version is for ${chipBefore}; name the chip in the manifest to allow it`,
    );
  }
  // Detects two files that were swapped at publication. Builds with equal names cannot show it.
  const isForeign = before !== null && before.project !== null && before.project !== project;
  if (isForeign && others.some((other) => other.project === project)) {
    return refused(`the image of another firmware: its project is "${project}" instead of "${before.project}"`);
  }
  return { kind: 'ok', chip, project };
}

/** Images of an ESP8266 have no descriptor: an ESP32 inspection refuses them. 0xEA: the second version of the format. */
function verifyEsp8266(bytes: Uint8Array, image: ImageInspection): Verdict {
  if (image.kind === 'application') return refused(`for ${image.chip} instead of esp8266`);
  const isImage = bytes[0] === imageMagic || bytes[0] === 0xea;
  return isImage ? { kind: 'ok', chip: 'esp8266', project: null } : refused('not an image for esp8266');
}

const refused = (reason: string): Verdict => ({ kind: 'refused', reason });

const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

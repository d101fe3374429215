import { createHash } from 'node:crypto';
import { inspectImage, normalizeChip } from '@station/protocol/firmware-image';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';

export type Verdict =
  /** `chip`: what the image is built for; null when it is none that is known. */
  { kind: 'ok'; chip: string | null } | { kind: 'refused'; reason: string };

export const checksumOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/**
 * Whether a complete file may be published: it is the one that the manifest names, and as far as it can be told an image that a device
 * can start.
 * @param before chip of the version of the same firmware that is in the cache; null when there is none or it is not known.
 */
export function verifyFirmware(bytes: Uint8Array, entry: FirmwareEntry, before: string | null): Verdict {
  if (entry.size !== null && bytes.length !== entry.size) {
    return refused(`${bytes.length} bytes long instead of ${entry.size}`);
  }
  if (checksumOf(bytes) !== entry.checksum) return refused('the checksum is not that of the manifest');
  const image = inspectImage(bytes, sha256);
  if (image.kind === 'refused') return image;
  const wanted = entry.chip;
  if (image.kind === 'other') {
    const espExpected = (wanted ?? before ?? '').startsWith('esp32');
    return espExpected ? refused(`not an image for ${wanted ?? before}`) : { kind: 'ok', chip: wanted };
  }
  if (wanted !== null && wanted !== image.chip) return refused(`for ${image.chip} instead of ${wanted}`);
  if (wanted === null && before !== null && normalizeChip(before) !== image.chip) {
    return refused(`for ${image.chip}, while the version before is for ${before}; the manifest can name the chip`);
  }
  return { kind: 'ok', chip: image.chip };
}

const refused = (reason: string): Verdict => ({ kind: 'refused', reason });

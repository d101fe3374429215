import { createHash } from 'node:crypto';
import { buildImage, checksumOfFile } from '../firmware/image-builder.ts';

/** Files below `firmware/` of the release server: a manifest, and the image that it names. */
export type FirmwareOffer = { find(file: string): { bytes: Uint8Array; etag: string } | null };

/**
 * Firmware for one type of virtual devices, newer than their first one. Its file never changes.
 * @param offered null: the manifest has no firmware.
 */
export function createFirmwareOffer(
  offered: { type: string; version: string } | null = { type: 'light', version: '1.1.0' },
): FirmwareOffer {
  const files = offered === null ? new Map([['manifest.json', Buffer.from('{}\n')]]) : filesOf(offered);
  return {
    find: (name) => {
      const bytes = files.get(name);
      if (bytes === undefined) return null;
      return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
    },
  };
}

function filesOf({ type, version }: { type: string; version: string }): Map<string, Uint8Array> {
  const image = buildImage({ project: type, version, bytes: 200_000 });
  const file = `${type}-${version}.bin`;
  const manifest = { [type]: { version, file, checksum: checksumOfFile(image), size: image.length, chip: 'esp32' } };
  return new Map<string, Uint8Array>([
    [file, image],
    ['manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)],
  ]);
}

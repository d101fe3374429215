import { createHash } from 'node:crypto';
import { parseFirmwareName } from '@station/protocol/firmware';
import { buildImage, checksumOfFile } from '../firmware/image-builder.ts';

/** Files below `firmware/` of the release server: a manifest, and the image that it names. */
export type FirmwareOffer = { find(file: string): { bytes: Uint8Array; etag: string } | null };

/**
 * Firmware for one type of virtual devices, newer than their first one. Its file never changes.
 * @param offered null: the manifest has no firmware.
 */
export function createFirmwareOffer(
  offered: { name: string; version: string } | null = { name: 'esp32-light', version: '1.1.0' },
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

function filesOf({ name, version }: { name: string; version: string }): Map<string, Uint8Array> {
  const { type, chip } = parseFirmwareName(name);
  const image = buildImage({ project: type, version, bytes: 200_000, ...(chip === null ? {} : { chip }) });
  const file = `${name}-${version}.bin`;
  const manifest = { [name]: { version, file, checksum: checksumOfFile(image), size: image.length } };
  return new Map<string, Uint8Array>([
    [file, image],
    ['manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)],
  ]);
}

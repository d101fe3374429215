import { generateKeyPairSync } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { openImageFolder } from '../../../simulators/releases/image-folder.ts';
import { createReleaseSigner } from '../../../simulators/releases/release-signer.ts';
import { stationImages, type Behaviour } from '../../../simulators/releases/station-images.ts';
import { createReleaseServer, manifestPath } from '../../rig/release-server.ts';
import type { Workspace } from '../../rig/workspace.ts';

/** Who publishes releases and firmware: signed, and now and then with a new key. */
export type Publisher = {
  manifestUrl: string;
  /** The key that the station was set up with. */
  firstKey: string;
  /** Publishes the next release. @returns its version. */
  release(behaviour: Behaviour): Promise<string>;
  /** Publishes the next firmware of the lamps. @returns its version. */
  firmware(): string;
  /** From the next release on another key signs; this one names it. */
  rotateKey(): void;
  goOffline(): Promise<void>;
  goOnline(): Promise<void>;
};

type Key = ReturnType<typeof createReleaseSigner>;
const newKey = (): Key => createReleaseSigner(generateKeyPairSync('ed25519').privateKey);
const imageBytes = 100_000;

export async function createPublisher(workspace: Workspace, clock: { now(): number }): Promise<Publisher> {
  const server = await createReleaseServer(workspace);
  const folder = await workspace.subfolder('published');
  const images = await openImageFolder(folder);
  const base = manifestPath.replace('manifest.json', '');
  let key = newKey();
  let next: Key | null = null;
  let releases = 0;
  let firmwares = 0;
  const firstKey = key.publicKey;
  const file = (text: object): Uint8Array => Buffer.from(`${JSON.stringify(text, null, 2)}\n`);
  const putSigned = (path: string, bytes: Uint8Array): void => {
    server.put(path, { bytes, headers: { 'content-type': 'application/json' } });
    server.put(`${path}.minisig`, { bytes: Buffer.from(key.sign(bytes)) });
  };
  const firmwareManifest = `${base}firmware/manifest.json`;
  let ofFirmware = file({});
  const release = async (behaviour: Behaviour): Promise<string> => {
    const version = `1.${releases++}.0`;
    const references: Record<string, string> = {};
    for (const [service, content] of Object.entries(stationImages({ version, behaviour, first: true }))) {
      references[service] = `station-${service}:${version}`;
      if (content) await images.publish(references[service], content);
    }
    for (const path of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!path.isFile()) continue;
      const whole = join(path.parentPath, path.name);
      server.put(`${base}images/${whole.slice(folder.length + 1)}`, { bytes: await readFile(whole) });
      if (path.parentPath.endsWith('blobs')) await rm(whole);
    }
    const manifest = file({
      version,
      images: references,
      releasedAt: isoTime(clock.now()),
      notes: `Release ${version}, ${behaviour}.`,
      ...(next === null ? {} : { nextPublicKey: next.publicKey }),
    });
    putSigned(manifestPath, manifest);
    putSigned(firmwareManifest, ofFirmware);
    if (next !== null) key = next;
    next = null;
    return version;
  };
  return {
    manifestUrl: server.manifestUrl,
    firstKey,
    release,
    firmware: () => {
      const version = `1.${++firmwares}.0`;
      const image = buildImage({ project: 'light', version, bytes: imageBytes, chip: 'esp32' });
      const name = `light-${version}.bin`;
      server.put(`${base}firmware/${name}`, { bytes: image });
      ofFirmware = file({
        'esp32-light': { version, file: name, checksum: checksumOfFile(image), size: image.length },
      });
      putSigned(firmwareManifest, ofFirmware);
      return version;
    },
    rotateKey: () => {
      next = newKey();
    },
    goOffline: server.goOffline,
    goOnline: server.goOnline,
  };
}

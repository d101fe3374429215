// The published site: a folder of static files that the installer and the agents read.
import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readReleaseManifest } from '@station/protocol/release-manifest';
import { formatKeyId, parseSigningKey } from '@station/protocol/signing-key';
import { agentFileName, architectures } from '../build-agent.ts';
import { compress, packTar, sha256Of } from './layers.ts';
import { root, type ReleaseOptions } from './options.ts';
import { pinComposeFile, type PinnedImage } from './pinned-images.ts';
import { run } from './program.ts';
import type { Signer } from './signing.ts';

/** Image references of the release, by compose service. */
export type Images = { backend: string; frontend: string };

export type Site = { options: ReleaseOptions; signer: Signer; date: Date };

/** `install.sh`, `reset.sh` and the cloud-init file, with the release's constants. */
export async function writeScripts({ options, signer }: Site): Promise<void> {
  const constants: Record<string, string> = {
    INSTALLER_URL: options.site,
    AGENT_VERSION: options.version,
    STATION_VERSION: options.stationVersion,
    STATION_IMAGES: options.images,
    UPDATE_SERVER_URL: `${options.site}/manifest.json`,
    // With both keys a copy of this script stays good after the rotation.
    UPDATE_PUBLIC_KEY: [signer.publicKey, ...(options.nextKey === null ? [] : [options.nextKey])].join(','),
  };
  for (const name of ['install.sh', 'reset.sh']) {
    const text = fillIn(await readFile(join(root, 'deploy', name), 'utf8'), constants, name);
    await put(join(options.output, name), text);
    await chmod(join(options.output, name), 0o755);
  }
  const firstStart = await readFile(join(root, 'deploy/cloud-init/user-data'), 'utf8');
  await put(
    join(options.output, 'cloud-init/user-data'),
    firstStart.replaceAll('https://INSTALLER_ADDRESS', options.site),
  );
}

/** Replaces `name='@NAME@'`. @throws when a placeholder is unknown, or a value cannot stand between single quotes. */
function fillIn(text: string, constants: Readonly<Record<string, string>>, file: string): string {
  return text.replaceAll(/'@([A-Z_]+)@'/g, (_, name: string) => {
    const value = constants[name];
    if (value === undefined || /['\n]/.test(value)) throw new Error(`${file}: no value for @${name}@`);
    return `'${value}'`;
  });
}

/** Where the executables are; `compressed` is a folder with the same ones compressed before. */
export type Agents = { folder: string; compressed?: string };

/** `agent/<version>/`: the compressed executables of both architectures, with signed checksums. */
export async function writeAgents({ options, signer }: Site, agents: Agents): Promise<void> {
  const folder = join(options.output, 'agent', options.version);
  await mkdir(folder, { recursive: true });
  const sums: string[] = [];
  for (const name of architectures.map(agentFileName)) {
    const file = join(agents.folder, name);
    const target = join(folder, `${name}.xz`);
    if (agents.compressed === undefined) await compressWithXz(file, target, xzLevel(options));
    else await copyFile(join(agents.compressed, `${name}.xz`), target);
    sums.push(`${await sha256Of(file)}  ${name}\n`, `${await sha256Of(target)}  ${name}.xz\n`);
  }
  await writeSums(folder, sums, signer);
}

async function compressWithXz(file: string, target: string, level: string): Promise<void> {
  const work = join(dirname(target), basename(file));
  await copyFile(file, work);
  await run('xz', ['--threads=2', level, work]);
  await chmod(target, 0o644);
}

/** Trying it must be quick; a published file is downloaded often. */
const xzLevel = ({ dryRun }: ReleaseOptions): string => (dryRun ? '-0' : '-9');

/**
 * `deploy/<version>/`: what the installer puts into the folder of the stack.
 * @param pin digests for the images in the compose file. @returns the images of others in it.
 */
export async function writeDeployment(
  { options, signer, date }: Site,
  pin: Parameters<typeof pinComposeFile>[1],
): Promise<PinnedImage[]> {
  const folder = join(options.output, 'deploy', options.version);
  const work = join(options.output, '.deployment');
  await mkdir(folder, { recursive: true });
  await mkdir(work);
  for (const name of ['docker-compose.yml', 'proxy', 'mosquitto', 'station-agent.service', 'station-bluez.service']) {
    await cp(join(root, 'deploy', name), join(work, name), { recursive: true });
  }
  const composeFile = join(work, 'docker-compose.yml');
  const { text, images } = await pinComposeFile(await readFile(composeFile, 'utf8'), pin);
  await writeFile(composeFile, text);
  await copyFile(join(options.output, 'reset.sh'), join(work, 'reset.sh'));
  const tar = join(folder, 'station-deploy.tar');
  await packTar(work, tar, { owner: '0:0', date: date.toISOString() });
  await compress(tar, `${tar}.gz`);
  await rm(tar);
  await rm(work, { recursive: true });
  await writeSums(folder, [`${await sha256Of(`${tar}.gz`)}  ${basename(tar)}.gz\n`], signer);
  return images;
}

async function writeSums(folder: string, lines: readonly string[], signer: Signer): Promise<void> {
  await put(join(folder, 'SHA256SUMS'), lines.join(''));
  await signer.sign(join(folder, 'SHA256SUMS'));
}

/**
 * `manifest.json`, and the same under `releases/<version>.json`; an empty firmware manifest. One that names the next key stands under
 * `keys/<id of its own key>.json` too: a station that is off during the whole rotation reads it there.
 */
export async function writeManifests({ options, signer, date }: Site, images: Images): Promise<void> {
  const { version, output, site, nextKey } = options;
  const next = nextKey === null ? {} : { nextPublicKey: nextKey };
  const manifest = { version, images, releasedAt: date.toISOString(), notes: `${site}/notes/${version}.md`, ...next };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const reading = readReleaseManifest(Buffer.from(text), null);
  if (reading.kind === 'rejected') throw new Error(`an agent would reject the manifest: ${reading.reason}`);
  const contents: Record<string, string> = {
    'manifest.json': text,
    [`releases/${version}.json`]: text,
    'firmware/manifest.json': '{}\n',
  };
  const own = parseSigningKey(signer.publicKey);
  if (nextKey !== null && own !== null) contents[`keys/${formatKeyId(own.keyId)}.json`] = text;
  for (const [name, content] of Object.entries(contents)) {
    await put(join(output, name), content);
    await signer.sign(join(output, name));
  }
}

/** Writes a file, with its folder. */
export async function put(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

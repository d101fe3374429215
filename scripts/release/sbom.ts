// What a release contains: a bill of materials (CycloneDX 1.5, JSON) and the licence texts that must go with it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '../build-agent.ts';
import type { PinnedImage } from './pinned-images.ts';
import type { BundledPackage } from './bundled-packages.ts';
import { root, type ReleaseOptions } from './options.ts';

type Component = Record<string, unknown>;

/** An image of others. `arch`: what of it is in an image of the stack. */
export type NamedImage = PinnedImage & { arch?: Architecture };

/** The bill of materials. The same commit gives the same bytes: its serial number is made of its content. */
export function renderSbom(
  { kind, version }: Pick<ReleaseOptions, 'kind' | 'version'>,
  date: Date,
  parts: { packages: readonly BundledPackage[]; images: readonly NamedImage[] },
): string {
  const node = nodeComponent();
  const images = uniqueImages(parts.images).map(imageComponent);
  const components = [node, ...images, ...parts.packages.map(packageComponent)];
  const name = kind === 'agent' ? 'station-agent' : 'station';
  const main = {
    type: 'application',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    licenses: licensesOf('Apache-2.0'),
  };
  const dependsOn = components.map((one) => one['bom-ref']);
  const body = {
    version: 1,
    metadata: { timestamp: date.toISOString(), component: main },
    components,
    dependencies: [{ ref: main['bom-ref'], dependsOn }],
  };
  const head = { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber: serialNumber(JSON.stringify(body)) };
  return `${JSON.stringify({ ...head, ...body }, null, 2)}\n`;
}

function nodeComponent(): Component {
  const version = process.versions.node;
  const purl = `pkg:generic/node@${version}`;
  return { type: 'platform', 'bom-ref': purl, name: 'node', version, purl, licenses: licensesOf('MIT') };
}

function imageComponent({ name, arch, digest }: NamedImage): Component {
  const short = name.replace(/^docker\.io\/library\//, '');
  const [image = '', tag = ''] = short.split(':');
  const purl = `pkg:docker/${image}@${encodeURIComponent(digest)}?${arch === undefined ? '' : `arch=${arch}&`}tag=${tag}`;
  const hashes = [{ alg: 'SHA-256', content: digest.replace('sha256:', '') }];
  return { type: 'container', 'bom-ref': purl, name: image, version: tag, purl, hashes };
}

const uniqueImages = (images: readonly NamedImage[]): NamedImage[] => [
  ...new Map(images.map((image) => [`${image.name} ${image.arch}`, image])).values(),
];

function packageComponent({ name, version, license, integrity, parts }: BundledPackage): Component {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [, algorithm, base64 = ''] = /^(sha512|sha256)-(.+)$/.exec(integrity ?? '') ?? [];
  const content = Buffer.from(base64, 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license === null ? {} : { licenses: licensesOf(license) }),
    ...(algorithm === undefined ? {} : { hashes: [{ alg: algorithm === 'sha512' ? 'SHA-512' : 'SHA-256', content }] }),
    properties: parts.map((part) => ({ name: 'station:part', value: part })),
  };
}

const licensesOf = (expression: string): object[] =>
  /[ ()]/.test(expression) ? [{ expression }] : [{ license: { id: expression } }];

/** A UUID of version 8 (RFC 9562, "custom") from a hash. */
function serialNumber(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const isLicense = (name: string): boolean => /^(licen[cs]e|copying|notice)/i.test(name);

/** Copyright notices and licence texts: MIT, BSD, ISC and Apache-2.0 ask for them in copies without sources too. */
export async function renderLicenses(packages: readonly BundledPackage[]): Promise<string> {
  const rule = `${'-'.repeat(80)}\n`;
  const texts: string[] = [];
  for (const { name, version, license, folder } of packages) {
    const files = (await readdir(join(root, folder))).filter(isLicense).sort();
    const content = await Promise.all(files.map((file) => readFile(join(root, folder, file), 'utf8')));
    texts.push(
      `${rule}${name} ${version} (${license ?? 'no licence named'})\n\n${content.join('\n').trim() || 'Its archive contains no text of the licence.'}\n`,
    );
  }
  const node = await readFile(join(root, `node_modules/node-linux-${process.arch}/LICENSE`), 'utf8');
  texts.push(`${rule}Node.js ${process.versions.node}\n\n${node.trim()}\n`);
  return `Software of others that is part of Station, and its licences.\n\n${texts.join('\n')}`;
}

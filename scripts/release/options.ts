// What a release is asked to be, and what must hold before it is made.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSigningKey } from '@station/protocol/signing-key';
import { parseVersion } from '@station/protocol/version';
import { hasSameProduct, readGoodRuns } from './full-runs.ts';
import { run } from './program.ts';

export const root = join(import.meta.dirname, '../..');

export type ReleaseOptions = {
  /** `agent`: only the agent and the installer. */
  kind: 'stack' | 'agent';
  version: string;
  /** Of the stack that the installer installs. */
  stationVersion: string;
  output: string;
  /** Public address of the output, without a slash at its end. */
  site: string;
  /** Repository of the images, without the service's name. */
  images: string;
  /** Null: a key is made, which is only for trying. */
  keyFile: string | null;
  /** Base64 line of the public key that will sign later releases; null: the same key. */
  nextKey: string | null;
  push: boolean;
  dryRun: boolean;
  /** Uses what is in `dist/` already. */
  built: boolean;
};

/** A request that cannot be carried out; the message says what helps. */
export class Refusal extends Error {}

const usage = `npm run release -- vX.Y.Z|agent-vX.Y.Z [options]
  vX.Y.Z               everything: images, agent, installer, manifest
  agent-vX.Y.Z         the agent and the installer
  --output DIR         where the site is written (dist/release)
  --site URL           public address of that folder
  --images REPOSITORY  where the images are, without the last part: host/owner/station
  --station-version X  with agent-v: the stack to install (the newest tag v*)
  --key FILE           secret key of minisign; its password is in MINISIGN_PASSWORD
  --next-key KEY       public key (or its .pub file) that will sign later releases
  --push               pushes the images; otherwise they are written to DIR/images
  --dry-run            for trying: any tree, no tag, section Unreleased, a key of its own
  --built              uses dist/ as it is
`;

/** @throws {@link Refusal} when it cannot be understood. */
export function readOptions(args: readonly string[], latestTag: string | null): ReleaseOptions {
  const { values, positionals } = parse(args);
  const [, isAgent, text = ''] = /^(agent-)?v(.*)$/.exec(positionals.length === 1 ? (positionals[0] ?? '') : '') ?? [];
  const version = parseVersion(text)?.text ?? refuse(`name a release: vX.Y.Z or agent-vX.Y.Z\n\n${usage}`);
  // A tag of an image cannot have it.
  if (version.includes('+')) refuse('a release has no build metadata (+…)');
  const kind = isAgent ? 'agent' : 'stack';
  const dryRun = values['dry-run'];
  const needed = (name: string, value: string | undefined, whenTrying: string): string =>
    value ?? (dryRun ? whenTrying : refuse(`--${name} is missing`));
  const stationVersion = kind === 'stack' ? version : (values['station-version'] ?? latestTag?.slice(1));
  const options: ReleaseOptions = {
    kind,
    version,
    stationVersion: stationVersion ?? refuse('there is no tag v*: name the stack to install with --station-version'),
    output: resolve(values.output),
    site: needed('site', values.site, 'http://station.invalid').replace(/\/+$/, ''),
    images: needed('images', values.images, 'station.invalid/station').replace(/\/+$/, ''),
    keyFile: values.key === undefined ? (dryRun ? null : refuse('--key is missing')) : resolve(values.key),
    nextKey: values['next-key'] === undefined ? null : readNextKey(values['next-key']),
    push: values.push,
    dryRun,
    built: values.built,
  };
  if (!/^https?:\/\/[^\s']+$/.test(options.site)) refuse('--site must be an http or https address');
  if (options.push && dryRun && !isAddress(options.images)) {
    refuse('a dry run pushes only to a registry that is named by its address, such as 127.0.0.1:5000/station');
  }
  return options;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        output: { type: 'string', default: join(root, 'dist/release') },
        site: { type: 'string' },
        images: { type: 'string' },
        'station-version': { type: 'string' },
        key: { type: 'string' },
        'next-key': { type: 'string' },
        push: { type: 'boolean', default: false },
        'dry-run': { type: 'boolean', default: false },
        built: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new Refusal(`${(error as Error).message}\n\n${usage}`, { cause: error });
  }
}

/** @param given the key itself, or the path of its `.pub` file. */
function readNextKey(given: string): string {
  const lines = (parseSigningKey(given) ? given : readText(given)).split('\n').map((line) => line.trim());
  const [line = '', ...more] = lines.filter((text) => text !== '' && !text.startsWith('untrusted comment:'));
  const key = more.length === 0 ? parseSigningKey(line) : null;
  return key?.text ?? refuse('--next-key must be a minisign public key, or its .pub file');
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Refusal(`--next-key: ${file} is no minisign public key and no file that can be read`, { cause: error });
  }
}

const isAddress = (images: string): boolean => isIP(images.split('/', 1)[0]?.replace(/:\d+$/, '') ?? '') !== 0;

/** Refuses when the machine or the repository is not ready for this release. */
export async function checkReadiness(options: ReleaseOptions): Promise<void> {
  for (const [program, debianPackage] of Object.entries(programsOf(options))) {
    if (spawnSync(program, ['--version']).error) {
      refuse(`the program ${program} is missing; it is in the Debian package ${debianPackage}`);
    }
  }
  if (options.dryRun) return;
  const changed = await run('git', ['status', '--porcelain'], { cwd: root });
  if (changed !== '') refuse(`the working tree has changes that are not committed:\n${changed}`);
  const tag = `${options.kind === 'agent' ? 'agent-' : ''}v${options.version}`;
  const tags = (await run('git', ['tag', '--points-at', 'HEAD'], { cwd: root })).split('\n');
  if (!tags.includes(tag)) refuse(`the tag ${tag} does not point at this commit`);
  const goodRuns = readGoodRuns(readFileSync(join(root, 'docs/full-runs.md'), 'utf8'));
  if (!(await hasSameProduct(goodRuns, root))) {
    refuse(
      'docs/full-runs.md has no run of this product without a failure: run .ci/full, and commit the row that it prints',
    );
  }
}

function programsOf({ kind }: ReleaseOptions): Record<string, string> {
  const always = { git: 'git', minisign: 'minisign', strip: 'binutils', tar: 'tar', xz: 'xz-utils' };
  return kind === 'stack' ? { ...always, skopeo: 'skopeo' } : always;
}

/** Date of the commit: what is released has it instead of the time of the build. */
export async function commitDate(): Promise<Date> {
  return new Date((await run('git', ['log', '-1', '--format=%cI'], { cwd: root })).trim());
}

/** The newest tag `v*` that this commit contains. */
export async function latestStackTag(): Promise<string | null> {
  const tags = (await run('git', ['tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', 'v*'], { cwd: root }))
    .split('\n')
    .filter((tag) => parseVersion(tag) !== null);
  return tags[0] ?? null;
}

function refuse(message: string): never {
  throw new Refusal(message);
}

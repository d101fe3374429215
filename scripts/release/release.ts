// Makes a release into a folder: build, images, agents, deployment files, manifests, bill of materials, notes.
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { architectures } from '../build-agent.ts';
import { findBundledPackages, parts } from './bundled-packages.ts';
import { services } from './image-recipes.ts';
import { createImageBuilder, pushImage, type ChangeConfig, type ImageBuilder } from './images.ts';
import { notesOf } from './notes.ts';
import { commitDate, Refusal, root, type ReleaseOptions } from './options.ts';
import { run } from './program.ts';
import type { Progress } from './progress.ts';
import { renderLicenses, renderSbom, type NamedImage } from './sbom.ts';
import { makeThrowAwayKey, openSigner, type Signer } from './signing.ts';
import {
  put,
  writeAgents,
  writeDeployment,
  writeManifests,
  writeScripts,
  type Agents,
  type Images,
  type Site,
} from './site.ts';

export type Environment = {
  /** Of the secret key; null when it has none. */
  password: string | null;
  /** Where registries are (containers-registries.conf(5)); null for the machine's own file. */
  registriesConf: string | null;
};

/** What several releases of a test have in common. */
export type Parts = {
  agents?: Agents;
  builder?: ImageBuilder;
  /** Changes the configuration of the backend's image. */
  changeBackend?: ChangeConfig | undefined;
};

/** @returns what a person should know, as lines. @throws {@link Refusal}, or when a program fails. */
export async function makeRelease(
  options: ReleaseOptions,
  env: Environment,
  progress: Progress,
  parts: Parts = {},
): Promise<string[]> {
  const notes = await readNotes(options);
  const date = await commitDate();
  await clear(options.output);
  const { signer, hints } = await openKey(options, env.password, date);
  const site: Site = { options, signer, date };
  const isStack = options.kind === 'stack';
  progress.step('build', 0);
  if (!options.built) await build(options);
  progress.step('scripts', 0.3);
  await writeScripts(site);
  progress.step('agent', 0.35);
  await writeAgents(site, parts.agents ?? { folder: join(root, 'dist/agent') });
  progress.step('images', 0.6);
  const { images, named } = isStack ? await makeImages(site, env, parts) : { images: null, named: [] };
  progress.step('manifest, bill of materials, notes', 0.9);
  if (images !== null) await writeManifests(site, images);
  await writeDocuments(site, { notes, named });
  progress.end();
  const next = options.nextKey === null ? [] : [`Later releases may be signed with ${options.nextKey}`];
  return [...hints, `The site is ${options.output}; its key is ${signer.publicKey}`, ...next];
}

async function readNotes({ kind, version, dryRun }: ReleaseOptions): Promise<string> {
  const name = kind === 'agent' ? `agent-v${version}` : version;
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  const notes = notesOf(changelog, name) ?? (dryRun ? notesOf(changelog, 'Unreleased') : null);
  if (notes === null) throw new Refusal(`CHANGELOG.md has no section "## [${name}]" with text`);
  return notes;
}

/** Empties the output of an earlier release. @throws {@link Refusal} for a folder with anything else. */
async function clear(output: string): Promise<void> {
  const names: string[] = await readdir(output).catch(() => []);
  if (names.length > 0 && !names.includes('install.sh')) {
    throw new Refusal(`${output} is not empty and no site of a release; remove it or name another --output`);
  }
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
}

async function openKey(
  { keyFile, output }: ReleaseOptions,
  password: string | null,
  date: Date,
): Promise<{ signer: Signer; hints: string[] }> {
  if (keyFile !== null) return { signer: await openSigner(keyFile, password, date), hints: [] };
  const file = `${output}.key`;
  await makeThrowAwayKey(file);
  const hint = `Signed with the throw-away key ${file}: only for trying, never publish it`;
  return { signer: await openSigner(file, null, date), hints: [hint] };
}

async function build({ kind, version, dryRun }: ReleaseOptions): Promise<void> {
  const program = join(root, 'scripts/build.ts');
  const strict = dryRun ? [] : ['--release'];
  await run(process.execPath, [program, 'agent', '--arch', 'all', '--version', version, ...strict], { cwd: root });
  if (kind === 'stack') await run(process.execPath, [program, 'backend', 'web'], { cwd: root });
}

/**
 * Assembles the images below `images/` of the output, or pushes them and removes that folder. Then the deployment files are
 * written, which name them.
 * @returns `named`: images of others, by digest.
 */
async function makeImages(
  site: Site,
  { registriesConf }: Environment,
  parts: Parts,
): Promise<{ images: Images; named: NamedImage[] }> {
  const { output, version, images: repository, push } = site.options;
  await using own = parts.builder ? null : await createImageBuilder(architectures, registriesConf);
  const builder = parts.builder ?? (own as ImageBuilder);
  const digests: Record<string, string> = {};
  const named: NamedImage[] = [];
  for (const name of services) {
    const folder = join(output, 'images', name);
    const made = await builder.build(name, version, folder, name === 'backend' ? parts.changeBackend : undefined);
    named.push(...made.bases);
    digests[name] = made.digest;
    // The proxy keeps its tag (PROXY_VERSION of the stack): a release does not change it on a station.
    const tags = name === 'proxy' ? ['2', version] : [version];
    if (push) for (const tag of tags) await pushImage(folder, version, `${repository}/${name}:${tag}`, registriesConf);
  }
  if (push) await rm(join(output, 'images'), { recursive: true });
  const reference = (name: 'backend' | 'frontend'): string => `${repository}/${name}:${version}@${digests[name]}`;
  const others = await writeDeployment(site, { proxy: digests['proxy'] ?? '', resolve: builder.resolve });
  return { images: { backend: reference('backend'), frontend: reference('frontend') }, named: [...named, ...others] };
}

async function writeDocuments(
  { options, date }: Site,
  { notes, named }: { notes: string; named: NamedImage[] },
): Promise<void> {
  const packages = await findBundledPackages(options.kind === 'agent' ? ['agent'] : parts);
  const name = options.kind === 'agent' ? `agent-v${options.version}` : options.version;
  await put(join(options.output, 'sbom', `${name}.cdx.json`), renderSbom(options, date, { packages, images: named }));
  await put(join(options.output, 'sbom', `${name}.licenses.txt`), await renderLicenses(packages));
  await put(join(options.output, 'notes', `${name}.md`), notes);
}

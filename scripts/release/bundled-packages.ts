// Which npm packages are part of what ships: asked of the bundler, not of the dependency tree.
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { rolldown, type Plugin, type RolldownOutput } from 'rolldown';
import { openBundle } from '../build-agent.ts';
import { smallerAgent, smallerBackend } from '../smaller-bundle.ts';
import { root } from './options.ts';

export type BundledPackage = {
  name: string;
  version: string;
  /** SPDX expression; null when the package names none. */
  license: string | null;
  /** Of the package's archive, in the form of Subresource Integrity. */
  integrity: string | null;
  /** Folder, relative to the repository. */
  folder: string;
  /** Programs that contain it. */
  parts: Part[];
};
export const parts = ['agent', 'backend', 'ble-helper', 'web'] as const;
export type Part = (typeof parts)[number];

type Lock = { packages: Record<string, { version?: string; license?: string; integrity?: string }> };

/** The npm packages in the bundles, sorted by name and version. */
export async function findBundledPackages(wanted: readonly Part[]): Promise<BundledPackage[]> {
  const lock = JSON.parse(await readFile(`${root}/package-lock.json`, 'utf8')) as Lock;
  const found = new Map<string, BundledPackage>();
  for (const part of wanted) {
    for (const folder of packageFolders(await bundles[part]())) {
      const { version, license = null, integrity = null } = lock.packages[folder] ?? {};
      if (version === undefined) throw new Error(`${folder} is bundled but not in package-lock.json`);
      const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
      // A package may be installed more than once.
      const known = found.get(`${name} ${version}`) ?? { name, version, license, integrity, folder, parts: [] };
      if (!known.parts.includes(part)) known.parts.push(part);
      found.set(`${name} ${version}`, known);
    }
  }
  return [...found.values()].sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

/** Folders of the packages whose modules are in a bundle, relative to the repository. */
function packageFolders(output: RolldownOutput): Set<string> {
  const modules = output.output.flatMap((piece) => (piece.type === 'chunk' ? modulesOf(piece.modules) : []));
  // A module may have a prefix, because a plugin replaced it, or a query at its end.
  const matches = modules.map((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/?]+)\//.exec(id.replace(/^[^/]*/, ''))?.[1]);
  return new Set(matches.filter((path) => path !== undefined).map((path) => relative(root, path)));
}

/** Without those of which nothing is used. */
const modulesOf = (modules: Readonly<Record<string, { renderedLength: number }>>): string[] =>
  Object.entries(modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []));

const bundles: Record<Part, () => Promise<RolldownOutput>> = {
  agent: async () => {
    await using build = await openBundle('apps/agent/src/main.ts', smallerAgent);
    return await build.generate({ format: 'esm', codeSplitting: false });
  },
  backend: async () => {
    await using build = await openBundle('apps/backend/src/main.ts', smallerBackend);
    return await build.generate({ format: 'esm' });
  },
  'ble-helper': async () => {
    await using build = await openBundle('apps/ble-helper/src/main.ts', smallerBackend);
    return await build.generate({ format: 'esm', codeSplitting: false });
  },
  web: async () => {
    await using build = await rolldown({
      input: `${root}/apps/web/src/main.ts`,
      platform: 'browser',
      plugins: [withoutStyles],
      logLevel: 'silent',
    });
    return await build.generate({ format: 'esm' });
  },
};

/** The web app's own build handles styles; those of packages belong to packages whose code is bundled too. */
const withoutStyles: Plugin = {
  name: 'without-styles',
  load: (id) => (/\.(css|svg|png|woff2)(\?.*)?$/.test(id) ? { code: 'export default ""', moduleType: 'js' } : null),
};

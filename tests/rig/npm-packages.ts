import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { cacheFolder, tell } from './debian.ts';
import { run } from './program.ts';

/** Packages of npm's registry by name, each with its exact version. */
export type Packages = Readonly<Record<string, string>>;

/**
 * Programs of npm's registry, which people run beside a station. Fetched once into the cache.
 * @param options `scripts`: the packages whose install scripts run; `overrides`: as in a package.json.
 * @returns the folder that has their `node_modules`.
 */
export async function installPackages(
  packages: Packages,
  { scripts = [], overrides = {} }: { scripts?: readonly string[]; overrides?: Packages } = {},
): Promise<string> {
  await mkdir(cacheFolder, { recursive: true });
  const names = Object.entries(packages).map(([name, version]) => `${name}-${version}`);
  // Addons are built for one Node.
  const folder = join(cacheFolder, `${names.join('-').replaceAll('/', '-')}-node-${process.versions.node}`);
  if (await exists(folder)) return folder;
  tell(`Fetching ${names.join(', ')} (once)`);
  const draft = await mkdtemp(`${folder}-`);
  try {
    const allowScripts = Object.fromEntries(scripts.map((name) => [name, true]));
    const manifest = { private: true, dependencies: packages, overrides, allowScripts };
    await writeFile(join(draft, 'package.json'), JSON.stringify(manifest));
    // With the whole environment, which may say where npm's registry is; addons are built for the first Node in the path.
    const given = Object.fromEntries(Object.entries(process.env).map(([key, value = '']) => [key, value]));
    const env = { ...given, PATH: `${dirname(process.execPath)}:${given['PATH'] ?? ''}` };
    const quiet = ['--no-audit', '--no-fund', '--silent'];
    if (scripts.length === 0) quiet.push('--ignore-scripts');
    await run('npm', ['install', ...quiet], { cwd: draft, env });
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

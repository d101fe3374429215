import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { cacheFolder, debianSource, needPackages } from './debian.ts';
import { run } from './program.ts';

/** The root folder of a small Debian with its Podman and more packages; made once for each name, about a minute. Never write to it. */
export async function podmanRoot(
  suite: 'bookworm' | 'trixie',
  packages: readonly string[],
  name = `podman-${suite}`,
): Promise<string> {
  const folder = join(cacheFolder, name);
  if (await exists(folder)) return folder;
  await needPackages(['mmdebstrap']);
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(`${folder}-`);
  try {
    await run('mmdebstrap', [
      '--mode=root',
      '--variant=apt',
      `--include=${['podman', ...packages].join(',')}`,
      '--aptopt=Acquire::Retries "3"',
      '--skip=check/empty',
      suite,
      join(work, 'root'),
      await debianSource(suite, work),
    ]);
    for (const each of ['proc', 'sys', 'dev', 'run', 'tmp']) await mkdir(join(work, 'root', each), { recursive: true });
    await rename(join(work, 'root'), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

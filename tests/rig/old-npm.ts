import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { cacheFolder, debianSource, needPackages, tell } from './debian.ts';
import { run } from './program.ts';

/** What old machines set the repository up with. */
export type OldNpms = {
  /** The npm of Node 18.20 and 20: its npm-cli.js. */
  npm10: string;
  /** A root folder with Debian 12's own npm (9.2) and Node (18), and little else: no libatomic1. */
  debian: string;
  /** The packed npm package that carries the repository's Node for this machine. */
  carrier: string;
};

/** Fetches them once, into the cache; the packages of Debian take about a minute. `version` is that of the repository's Node. */
export async function prepareOldNpms(version: string): Promise<OldNpms> {
  await mkdir(cacheFolder, { recursive: true });
  const [npm10, debian, carrier] = await Promise.all([
    cached('npm-10.8.2-unpacked', async (folder) => {
      await run('tar', ['-xzf', await pack('npm@10.8.2', folder), '-C', folder]);
    }),
    cached('debian-12-npm', bootstrap),
    cached(`node-linux-${process.arch}-${version}-packed`, async (folder) => {
      await rename(await pack(`node-linux-${process.arch}@${version}`, folder), join(folder, 'package.tgz'));
    }),
  ]);
  return { npm10: join(npm10, 'package/bin/npm-cli.js'), debian, carrier: join(carrier, 'package.tgz') };
}

/** A folder of the cache, which `fill` fills when it is missing. */
async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder, name);
  if (await exists(folder)) return folder;
  tell(`Fetching ${name} (once)`);
  const draft = await mkdtemp(`${folder}-`);
  try {
    await fill(draft);
    await chmod(draft, 0o755);
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

async function pack(name: string, folder: string): Promise<string> {
  // With the whole environment, which may say where npm's registry is.
  const env = Object.fromEntries(Object.entries(process.env).map(([key, value = '']) => [key, value]));
  await run('npm', ['pack', '--silent', name], { cwd: folder, env });
  const packed = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (packed === undefined) throw new Error(`npm packed no ${name}`);
  return join(folder, packed);
}

/** Only unpacked, not configured: that takes a sixth of the time, and is enough to run npm. */
async function bootstrap(folder: string): Promise<void> {
  await needPackages(['mmdebstrap']);
  const work = await mkdtemp(join(cacheFolder, 'bookworm-'));
  try {
    const include = '--include=npm,coreutils,dash,util-linux';
    await run('mmdebstrap', [
      '--mode=root',
      '--variant=extract',
      include,
      '--aptopt=Acquire::Retries "3"',
      '--skip=check/empty',
      'bookworm',
      folder,
      await debianSource('bookworm', work),
    ]);
    for (const name of ['proc', 'srv']) await mkdir(join(folder, name), { recursive: true });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@station/kit/command';

/** Sources of the built page. */
const sources = ['apps/web', 'packages/protocol/src', 'package-lock.json'];

/** True when the page is not built or older than a source. */
export async function isWebStale(root: string): Promise<boolean> {
  const built = await modifiedAt(join(root, 'dist/web/index.html'));
  if (built === null) return true;
  for (const source of sources) {
    if ((await newestBelow(join(root, source))) > built) return true;
  }
  return false;
}

/**
 * Builds the web app into `dist/web`.
 * @throws with the last lines of the build's output when it fails.
 */
export async function buildWeb(options: {
  root: string;
  path: string;
  home: string;
  signal: AbortSignal;
}): Promise<void> {
  const { root, path, home, signal } = options;
  // This Node first, because that of the machine may be too old for the build.
  const env = { PATH: `${join(root, 'node_modules/.bin')}:${path}`, HOME: home };
  const result = await runCommand('npm', ['run', 'build', '-w', '@station/web'], { cwd: root, env, abort: signal });
  if (result.exitCode === 0) return;
  const output = `${result.stdout}\n${result.stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new Error(`The web page could not be built:\n${output}`);
}

async function newestBelow(path: string): Promise<number> {
  const entry = await stat(path).catch(() => null);
  if (!entry) return 0;
  if (!entry.isDirectory()) return entry.mtimeMs;
  let newest = 0;
  for (const name of await readdir(path)) {
    if (name === 'node_modules' || name === 'dist' || name.startsWith('.')) continue;
    newest = Math.max(newest, await newestBelow(join(path, name)));
  }
  return newest;
}

const modifiedAt = async (path: string): Promise<number | null> =>
  (await stat(path).catch(() => null))?.mtimeMs ?? null;

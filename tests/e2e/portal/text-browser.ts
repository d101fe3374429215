import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needPackages } from '../../rig/debian.ts';
import { run } from '../../rig/program.ts';

/** A page as text, rendered by w3m. */
export async function readWithW3m(url: string, language: string): Promise<string> {
  await needPackages(['w3m']);
  const options = ['-o', `accept_language=${language}`, '-o', 'display_charset=UTF-8', '-cols', '60'];
  return run('w3m', [...options, '-dump', url]);
}

/** Presses these keys in Lynx one after another, then quits. */
export async function pressInLynx(url: string, keys: readonly string[]): Promise<void> {
  await needPackages(['lynx', 'bsdutils']);
  const folder = await mkdtemp(join(tmpdir(), 'station-lynx-'));
  try {
    const script = join(folder, 'keys');
    await writeFile(script, keys.map((key) => `key ${key}\n`).join(''));
    // Lynx needs a terminal.
    const lynx = `lynx -accept_all_cookies -nopause -cmd_script=${script} ${url}`;
    await run('script', ['-q', '-e', '-c', lynx, '/dev/null'], { env: { TERM: 'vt100', LC_ALL: 'C.UTF-8' } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

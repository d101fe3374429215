import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needPackages } from '../../rig/debian.ts';
import { run } from '../../rig/program.ts';

/** What w3m makes of a page: text as it stands on a terminal. */
export async function readWithW3m(url: string, language: string): Promise<string> {
  await needPackages(['w3m']);
  const options = ['-o', `accept_language=${language}`, '-o', 'display_charset=UTF-8', '-cols', '60'];
  return run('w3m', [...options, '-dump', url]);
}

/** Somebody at Lynx who presses these keys, one after another, and leaves. */
export async function pressInLynx(url: string, keys: readonly string[]): Promise<void> {
  await needPackages(['lynx', 'bsdutils']);
  const folder = await mkdtemp(join(tmpdir(), 'station-lynx-'));
  try {
    const script = join(folder, 'keys');
    await writeFile(script, keys.map((key) => `key ${key}\n`).join(''));
    // Lynx wants a terminal.
    const lynx = `lynx -accept_all_cookies -nopause -cmd_script=${script} ${url}`;
    await run('script', ['-q', '-e', '-c', lynx, '/dev/null'], { env: { TERM: 'vt100', LC_ALL: 'C.UTF-8' } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

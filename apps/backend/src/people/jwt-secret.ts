import { readText, writeDurable, type Disk } from '@station/kit/durable-files';
import { newToken } from '../core/secrets.ts';

/** The secret from the configuration, else the one in the file, which is made once and only its owner may read. */
export async function readJwtSecret(options: { configured: string | null; disk: Disk; path: string }): Promise<string> {
  if (options.configured !== null) return options.configured;
  const kept = (await readText(options.disk, options.path))?.trim();
  if (kept !== undefined && kept.length >= 32) return kept;
  const secret = newToken();
  await writeDurable(options.disk, options.path, `${secret}\n`);
  return secret;
}

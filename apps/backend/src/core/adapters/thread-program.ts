import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The file of a thread: the built one, or the one of this repository.
 * @param built name beside the built program.
 */
export function findThreadProgram(built: string, source: URL): string {
  const places = [new URL(built, import.meta.url), source].map((place) => fileURLToPath(place));
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`The program ${built} is missing`);
  return found;
}

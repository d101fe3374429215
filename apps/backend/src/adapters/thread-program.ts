import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The file of a thread: the built one, or the one of this repository.
 * @param built name beside the built program. @param source relative to this folder.
 */
export function findThreadProgram(built: string, source: string): string {
  const places = [built, source].map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`The program ${built} is missing`);
  return found;
}

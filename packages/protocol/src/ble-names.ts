import { isExternalId } from './topics.ts';
import { isTypeName } from './type-names.ts';

/** What the advertised BLE name of a device says that waits to be set up. */
type AdvertisedName = { type: string; externalId: string };

/**
 * Reads the names of devices in the field, `SH_<type>_<id>` and `<type>-<id>` (contracts, section 11): the id follows the last separator,
 * because a type may contain `-` and `_`.
 * @returns null when the name is not of a device of this family.
 */
export function readAdvertisedName(name: string): AdvertisedName | null {
  if (name.startsWith('SH_')) return namedBy(name.slice('SH_'.length), '_');
  return namedBy(name, '-');
}

function namedBy(text: string, separator: string): AdvertisedName | null {
  const at = text.lastIndexOf(separator);
  const type = text.slice(0, at);
  const externalId = text.slice(at + 1);
  if (at < 1 || externalId === '' || !isExternalId(externalId) || !isTypeName(type)) return null;
  return { type, externalId };
}

/** Any letter or digit beyond ASCII: nobody can say what it is mistaken for. */
const anyCharacter = '?';

/**
 * How a person reads an id: without case, spaces and signs, and with one of the letters, pairs of letters and digits that look the same. For `looksLike`.
 */
export const lookOf = (id: string): string =>
  id
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('cl', 'd')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')
    .replace(/[^\0-\x7f]/gu, anyCharacter);

/** Whether a person may mistake one for the other: `lamp7` and `Lamp 7`, or a Cyrillic `а`. @param a, b by `lookOf`. */
export function looksLike(a: string, b: string): boolean {
  if (a === b) return true;
  const isAny = (text: string, index: number): boolean => text[index] === anyCharacter;
  return a.length === b.length && [...a].every((one, at) => one === b[at] || isAny(a, at) || isAny(b, at));
}

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

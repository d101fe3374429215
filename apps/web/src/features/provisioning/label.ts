import { readAdvertisedName } from '@station/protocol/ble-names';
import { isExternalId } from '@station/protocol/topics';
import { isTypeName } from '@station/protocol/type-names';

/** What a device's label says. */
export type Label = { externalId: string; type: string | null };

/** Reads the QR code of a label: JSON with `id` and `type`, or the name that the device advertises. Null: it is another code. */
export function readLabel(text: string): Label | null {
  const trimmed = text.trim();
  const fields = readJson(trimmed);
  if (fields === null) return readAdvertisedName(trimmed);
  const { id, type } = fields;
  if (typeof id !== 'string' || !isExternalId(id)) return null;
  return { externalId: id, type: typeof type === 'string' && isTypeName(type) ? type : null };
}

function readJson(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

import type { Place } from '@station/protocol/rest';

/** About a kilometre: enough for the sun, and no more than that is stored. */
export const rounded = ({ latitude, longitude }: Place): Place => ({
  latitude: Math.round(latitude * 100) / 100,
  longitude: Math.round(longitude * 100) / 100,
});

/** A number of degrees as people type it, also with a decimal comma; null when it is none or too large. */
export function degreesOf(text: string, most: 90 | 180): number | null {
  const trimmed = text.trim().replace(',', '.').replace('\u2212', '-');
  if (!/^-?\d{1,3}(\.\d+)?$/.test(trimmed)) return null;
  const degrees = Number(trimmed);
  return Math.abs(degrees) <= most ? degrees : null;
}

/** A part of the day in local time, in minutes since midnight: `start` inclusive, `end` exclusive. It may cross midnight. */
export type MaintenanceWindow = { readonly startMinute: number; readonly endMinute: number };

/** Reads `HH:MM-HH:MM`; null when it is invalid or empty. */
export function parseMaintenanceWindow(text: string): MaintenanceWindow | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (!match) return null;
  const [startHour, startMinute, endHour, endMinute] = match.slice(1).map(Number) as [number, number, number, number];
  const window = { startMinute: startHour * 60 + startMinute, endMinute: endHour * 60 + endMinute };
  return window.startMinute === window.endMinute ? null : window;
}

/**
 * @param window null: there is no window, any time is inside.
 * @param localMinutes minutes since local midnight.
 */
export function isInsideWindow(window: MaintenanceWindow | null, localMinutes: number): boolean {
  if (window === null) return true;
  const { startMinute, endMinute } = window;
  if (startMinute < endMinute) return localMinutes >= startMinute && localMinutes < endMinute;
  return localMinutes >= startMinute || localMinutes < endMinute;
}

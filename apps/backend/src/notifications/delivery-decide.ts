import type { QuietHours } from '@station/protocol/notifications';
import type { Alert, NamedDevice } from './alert.ts';

const minute = 60_000;
/** A message that is older than this is of no use. */
export const lifetimeMs = 24 * 60 * minute;
const firstRetryMs = 30_000;
const longestRetryMs = 60 * minute;
/** After as many failures in a row people see that a channel does not work. */
export const failuresUntilFault = 3;
/** The queue keeps this many messages, in fair shares. */
export const mostWaiting = 2_000;

/** @param attempts failed ones, 1 at least. @param askedMs what the service asked for. @param random in [0, 1). */
export function retryAfter(attempts: number, askedMs: number | null, random: number): number {
  const doubled = Math.min(firstRetryMs * 2 ** (attempts - 1), longestRetryMs);
  return Math.round(Math.max(doubled * (0.8 + 0.4 * random), Math.min(askedMs ?? 0, longestRetryMs)));
}

/** The clock where the station is. `minutes`: since midnight. `until`: milliseconds until it next shows a time of day. */
export type LocalClock = { minutes: number; until: (time: string) => number };

/** How long a message must wait for the end of the quiet hours, in milliseconds; 0: it may be sent. */
export function quietFor(quiet: QuietHours, { minutes, until }: LocalClock): number {
  if (quiet === null) return 0;
  const from = minutesOf(quiet.from);
  const to = minutesOf(quiet.to);
  const isQuiet = from <= to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
  return isQuiet ? until(quiet.to) : 0;
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

type Held = { id: string; alert: Alert };
export type HeldChange = { id: string; alert: Alert | null };

/**
 * Devices that are back before a reader heard of their outage (quiet hours): neither is told.
 * @returns what becomes of the messages that wait, and what of the new one; null: it is not needed.
 */
export function settleHeld(held: readonly Held[], alert: Alert): { changes: HeldChange[]; alert: Alert | null } {
  if (alert.kind !== 'devices_back') return { changes: [], alert };
  const back = new Set(alert.devices.map(({ id }) => id));
  const settled = new Set<string>();
  const changes: HeldChange[] = [];
  for (const { id, alert: waiting } of held) {
    if (waiting.kind !== 'devices_offline') continue;
    const left = without(waiting.devices, back);
    if (left.length === waiting.devices.length) continue;
    for (const device of waiting.devices) if (back.has(device.id)) settled.add(device.id);
    changes.push({ id, alert: left.length === 0 ? null : { ...waiting, devices: left } });
  }
  const devices = without(alert.devices, settled);
  return { changes, alert: devices.length === 0 ? null : { ...alert, devices } };
}

const without = (devices: readonly NamedDevice[], ids: ReadonlySet<string>): NamedDevice[] =>
  devices.filter(({ id }) => !ids.has(id));

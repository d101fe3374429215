import { seededRandom } from '@station/simulators/devices/random';

/** What happens to a station, at a time after the beginning. */
export type Entry = { at: number } & (
  | { kind: 'release'; behaviour: 'good' | 'crashes' | 'unhealthy'; newKey: boolean; cutIn: Phase | null }
  | { kind: 'firmware'; cut: boolean }
  | { kind: 'power_cut'; offMs: number }
  | { kind: 'router_off' | 'router_on' | 'card_full' | 'card_emptied' | 'stick_out' | 'stick_in' | 'look' }
);
/** Phase of an update in which the power goes. */
type Phase = 'pulling' | 'switching' | 'verifying';

const minute = 60_000;
const hour = 60 * minute;
export const dayMs = 24 * hour;

/**
 * A year of `days` days, which begins in the morning: 12 releases (3 bad, 2 with a new key, 3 with a power cut in the middle), 6 versions of firmware, 40 power
 * cuts, 20 outages of the router, a full card, a dead stick, and a look at everything each noon. A shorter one has what happens in `eventDays`
 * of a year.
 */
export function makeCalendar(days: number, eventDays: number, seed: string): Entry[] {
  const random = seededRandom(seed);
  const share = (aYear: number): number => Math.max(1, Math.round((aYear * eventDays) / 365));
  const at = (day: number, hours: number): number => Math.floor(day) * dayMs + hours * hour;
  const all: Entry[] = [];
  for (let day = 0; day < days; day++) all.push({ at: at(day, 3), kind: 'look' });
  const releases = share(12);
  for (let index = 0; index < releases; index++) {
    const bad = index % 4 === 2;
    const behaviour = !bad ? 'good' : index % 8 === 2 ? 'crashes' : 'unhealthy';
    const cutIn = index % 4 === 3 ? ((['pulling', 'switching', 'verifying'] as const)[(index >> 2) % 3] ?? null) : null;
    const day = ((index + 0.4) * days) / releases;
    all.push({ at: at(day, 5), kind: 'release', behaviour, newKey: index % 6 === 1, cutIn });
  }
  const firmwares = share(6);
  for (let index = 0; index < firmwares; index++)
    all.push({ at: at(((index + 0.7) * days) / firmwares, 6), kind: 'firmware', cut: index % 3 === 1 });
  for (let index = share(40) - share(3); index > 0; index--)
    all.push({
      at: at(random() * days, 24 * random()),
      kind: 'power_cut',
      offMs: Math.round(random() ** 3 * 6 * hour),
    });
  const full = at(days * 0.3, 7);
  all.push({ at: full, kind: 'card_full' }, { at: full + 6 * hour, kind: 'card_emptied' });
  const out = at(days * 0.55, 8);
  all.push({ at: out, kind: 'stick_out' }, { at: out + Math.min(6, days / 4) * dayMs, kind: 'stick_in' });
  for (let index = share(20); index > 0; index--) {
    const from = at(random() * days, 24 * random());
    // It ends before anything else happens: what follows needs the network.
    const next = Math.min(...all.filter((one) => one.kind !== 'look' && one.at > from).map((one) => one.at - minute));
    const to = Math.min(from + (10 + random() * 600) * minute, next);
    if (to > from) all.push({ at: from, kind: 'router_off' }, { at: to, kind: 'router_on' });
  }
  return all
    .map((one) => ({ ...one, at: Math.round(one.at) }))
    .filter((one) => one.at < days * dayMs)
    .sort((a, b) => a.at - b.at);
}

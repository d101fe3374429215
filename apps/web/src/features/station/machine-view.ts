import type { Machine } from '@station/protocol/agent-machine';
import type { Tone } from '../../ui/tone.tsx';

/** What each fact of the machine means for people: its tone, and the text that says so. */
type Judged<Word extends string> = { tone: Tone; word: Word };

/** Of processes that want to run, for each core, over five minutes: a short peak is no trouble. */
const busyLoad = 1.5;

export const judgeLoad = ({ load, cores }: Machine): Judged<'good' | 'busy'> =>
  (load[1] ?? 0) > busyLoad * cores ? { tone: 'attention', word: 'busy' } : { tone: 'ok', word: 'good' };

const shortMemory = 0.1;

export const judgeMemory = ({ totalBytes, availableBytes }: NonNullable<Machine['memory']>): Judged<'good' | 'short'> =>
  availableBytes < shortMemory * totalBytes ? { tone: 'attention', word: 'short' } : { tone: 'ok', word: 'good' };

const gigabyte = 1000 ** 3;

/** An update needs room for the images of a release; with less than the second limit even the database is in danger. */
export function judgeDisk({ totalBytes, freeBytes }: Machine['disks'][number]): Judged<'good' | 'low' | 'full'> {
  const share = freeBytes / totalBytes;
  if (share < 0.02 || freeBytes < 0.2 * gigabyte) return { tone: 'fault', word: 'full' };
  return share < 0.1 && freeBytes < 10 * gigabyte ? { tone: 'attention', word: 'low' } : { tone: 'ok', word: 'good' };
}

/** Flash memory fails soon after the life that its maker expects. */
export function judgeWear(lifeUsedPercent: number | null): Judged<'good' | 'worn' | 'over' | 'unknown'> {
  if (lifeUsedPercent === null) return { tone: 'ok', word: 'unknown' };
  if (lifeUsedPercent > 100) return { tone: 'fault', word: 'over' };
  return lifeUsedPercent >= 90 ? { tone: 'attention', word: 'worn' } : { tone: 'ok', word: 'good' };
}

/** A Raspberry Pi slows down from 80 °C on. */
export function judgeTemperature(celsius: number): Judged<'good' | 'warm' | 'hot'> {
  if (celsius >= 80) return { tone: 'fault', word: 'hot' };
  return celsius >= 70 ? { tone: 'attention', word: 'warm' } : { tone: 'ok', word: 'good' };
}

export function judgePower(
  power: NonNullable<Machine['power']>,
): Judged<'good' | 'low' | 'wasLow' | 'slowed' | 'wasSlowed'> {
  if (power.isLow) return { tone: 'fault', word: 'low' };
  if (power.isSlowed) return { tone: 'attention', word: 'slowed' };
  if (power.wasLow) return { tone: 'attention', word: 'wasLow' };
  return power.wasSlowed ? { tone: 'attention', word: 'wasSlowed' } : { tone: 'ok', word: 'good' };
}

/** The clocks of a phone and of a station differ a little, and the answer took a moment. */
const offMs = 60_000;

export const judgeClock = (machineMs: number, hereMs: number): Judged<'good' | 'off'> =>
  Math.abs(machineMs - hereMs) > offMs ? { tone: 'attention', word: 'off' } : { tone: 'ok', word: 'good' };

const services = ['backend', 'frontend', 'mqtt', 'postgres', 'proxy'] as const;

/** What stops meanwhile, for a service of the stack. */
export const stopsWith = (service: string): (typeof services)[number] | 'other' =>
  services.find((known) => known === service) ?? 'other';

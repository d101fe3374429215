import type { TFunction } from 'i18next';
import type { DevicesWifi, WifiDeviceState } from '@station/protocol/devices-wifi';
import type { Tone } from '../../ui/tone.tsx';

export type WifiChange = NonNullable<DevicesWifi['change']>;
export type WifiDevice = WifiChange['devices'][number];

/** The icon of a device; only those that need attention stand out. */
export const toneOfWifi: Record<WifiDeviceState, Tone> = {
  waiting: 'working',
  told: 'working',
  followed: 'ok',
  not_followed: 'attention',
  not_told: 'attention',
  offline: 'attention',
};

export const countOf = ({ counts }: WifiChange): { done: number; total: number } => ({
  done: counts.followed,
  total: Object.values(counts).reduce((sum, count) => sum + count, 0),
});

/** How far it is, in one sentence. */
export function wifiHeadline(t: TFunction, change: WifiChange): { tone: Tone; words: string } {
  const { ssid, state } = change;
  const { done, total } = countOf(change);
  if (state === 'running') return { tone: 'working', words: t('devicesWifi.head.running', { ssid, done, total }) };
  if (total === 0) return { tone: 'ok', words: t('devicesWifi.head.none', { ssid }) };
  if (done === total) return { tone: 'ok', words: t('devicesWifi.head.ended', { ssid, total }) };
  const key = state === 'cancelled' ? 'devicesWifi.head.cancelled' : 'devicesWifi.head.partly';
  return { tone: 'attention', words: t(key, { ssid, done, total }) };
}

/** What to do about those that did not follow; once for each state. */
export function wifiAdvice(t: TFunction, { counts, state }: WifiChange): string[] {
  const isRunning = state === 'running';
  return [
    ...(counts.not_followed > 0 ? [t('devicesWifi.advice.not_followed')] : []),
    ...(counts.not_told > 0 ? [t('devicesWifi.advice.not_told')] : []),
    ...(counts.offline > 0 ? [t(isRunning ? 'devicesWifi.advice.offlineRunning' : 'devicesWifi.advice.offline')] : []),
  ];
}

import type { TFunction } from 'i18next';
import type { DeviceType } from '@station/protocol/device-types';
import type { Candidate, Provisioning, RadioReport } from '@station/protocol/provisioning';
import { typeName } from '../../i18n/device-words.ts';
import { orElse } from '../../i18n/words.ts';
import type { Tone } from '../../ui/tone.tsx';

type Step = 'queued' | 'writing' | 'waiting' | 'login' | 'online';

/** The steps on the way of a device to the station, and which of them is under way; `at` is past the last when it is online. */
export function stepsOf({ method, status }: Provisioning): { steps: readonly Step[]; at: number } {
  const last: Step = method === 'ble' ? 'waiting' : 'login';
  const steps: Step[] = method === 'manual' ? [last, 'online'] : ['queued', 'writing', last, 'online'];
  if (status === 'succeeded') return { steps, at: steps.length };
  const at = status === 'queued' || status === 'writing' ? steps.indexOf(status) : steps.indexOf(last);
  return { steps, at: Math.max(at, 0) };
}

/** What went wrong and what helps; a newer station may have reasons that this page does not know. */
export function failureWords(t: TFunction, { status, error, method }: Provisioning): string {
  if (status === 'timed_out' && error === null)
    return t(method === 'ble' ? 'provisioning.error.lateBle' : 'provisioning.error.lateLogin');
  return orElse(t, `provisioning.error.${error ?? 'other'}`, t('provisioning.error.other'));
}

/** Why nothing can be found now; null: the radio searches, or begins to. */
export function radioNote(
  t: TFunction,
  { state, reason }: RadioReport,
): { tone: Tone; title: string; help: string } | null {
  if (state === 'off' || state === 'starting' || state === 'scanning') return null;
  const key = reason ?? 'helper_failed';
  const fallback = {
    title: t('provisioning.radio.helper_failed.title'),
    help: t('provisioning.radio.helper_failed.help'),
  };
  return {
    tone: state === 'paused' ? 'working' : 'attention',
    title: orElse(t, `provisioning.radio.${key}.title`, fallback.title),
    help: orElse(t, `provisioning.radio.${key}.help`, fallback.help),
  };
}

/** The name that the station gives a device begins with its type in English: here it is in the reader's language. */
export function candidateName(
  locale: string,
  { defaultName, deviceType }: Pick<Candidate, 'defaultName' | 'deviceType'>,
  described: DeviceType | undefined,
): string {
  const english = described?.names?.['en'];
  if (deviceType === null || english === undefined || !defaultName.startsWith(`${english} `)) return defaultName;
  return typeName(locale, deviceType, described) + defaultName.slice(english.length);
}

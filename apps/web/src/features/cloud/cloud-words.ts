import type { TFunction } from 'i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import { conditionTitle } from '../../i18n/condition-words.ts';
import { orElse } from '../../i18n/words.ts';
import type { Tone } from '../../ui/tone.tsx';

/** The state of the link, in one sentence. */
export function cloudHeadline(t: TFunction, status: CloudStatus): { tone: Tone; words: string } {
  const { state, conditions, isHeldHere, lastError } = status;
  const host = status.host ?? '';
  const fault = conditions.find(({ severity }) => severity === 'fault');
  if (fault) return { tone: 'fault', words: conditionTitle(t, fault) };
  if (!isHeldHere) return { tone: 'working', words: t('cloud.head.elsewhere') };
  switch (state) {
    case 'disabled':
      return { tone: 'ok', words: t('cloud.head.disabled') };
    case 'unclaimed':
      return lastError === null
        ? { tone: 'working', words: t('cloud.head.unclaimed') }
        : { tone: 'attention', words: t('cloud.head.unclaimedAway', { host }) };
    case 'connecting':
      return { tone: 'working', words: t('cloud.head.connecting', { host }) };
    case 'offline':
      return { tone: 'attention', words: t('cloud.head.offline', { host }) };
    case 'rejected':
      return { tone: 'fault', words: t('conditionTitle.cloud_rejected') };
    case 'authenticated': {
      const count = conditions.filter(({ severity }) => severity === 'warning').length;
      if (count > 0) return { tone: 'attention', words: t('cloud.head.connectedBut', { count, host }) };
      return { tone: 'ok', words: t('cloud.head.connected', { host }) };
    }
  }
}

/** What was asked, and of which device. @param nameOf null for a device that is not here any more. */
export function requestWords(
  t: TFunction,
  { request, deviceId, action }: CloudActivity,
  nameOf: (deviceId: string) => string | null,
): string {
  const device = (deviceId === null ? null : nameOf(deviceId)) ?? t('cloud.someDevice');
  return orElse(t, `cloud.request.${request}`, request, { device, action: action ?? '' });
}

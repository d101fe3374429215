import type { TFunction } from 'i18next';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { isOutage } from '../../api/problem.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { problemWords } from '../../i18n/words.ts';
import { Sentence } from '../../ui/sentence.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import type { Refusal } from './device-control.ts';
import type { ControlledDevice } from './use-device.ts';

/** What there is to say about a device beside its values: that a command failed, that it is away, that it is being waited for. */
export function DeviceNote({ device, shown }: { device: Device; shown: ControlledDevice }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const refusal = shown.wish?.refusal ?? null;
  return (
    <>
      <span role="alert" className="block">
        {refusal && (
          <span className="mt-2 flex gap-1.5 text-small text-fault">
            <ToneIcon tone="fault" className="size-4 translate-y-0.5" />
            {refusalWords(t, locale, refusal)}
          </span>
        )}
      </span>
      {device.status === 'offline' && (
        <span className="flex gap-1.5 text-small text-attention">
          <ToneIcon tone="attention" className="size-4 translate-y-0.5" />
          <span>
            {device.lastSeenAt === null ? (
              t('device.status.offline')
            ) : (
              <Sentence text={(time) => t('device.offlineSince', { time })} slot={<TimeAgo at={device.lastSeenAt} />} />
            )}
          </span>
        </span>
      )}
      {device.status === 'unknown' && (
        <span className="block text-small text-ink-soft first-letter:uppercase">{t('device.status.unknown')}</span>
      )}
      {shown.waiting && <Waiting />}
    </>
  );
}

/** Words only when it takes longer than a moment, so that nothing flickers. */
function Waiting() {
  const { t } = useTranslation();
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 800);
    return () => clearTimeout(timer);
  }, []);
  return (
    slow && (
      <span className="flex gap-1.5 text-small text-working">
        <ToneIcon tone="working" className="size-4 translate-y-0.5" />
        {t('device.waiting')}
      </span>
    )
  );
}

/** Why what was asked did not happen, and how it stands now. */
function refusalWords(t: TFunction, locale: string, refusal: Refusal): string {
  switch (refusal.because) {
    case 'no_answer':
      return t('device.refused.noAnswer');
    case 'refused':
      return t('device.refused.failed');
    case 'not_sent':
      // A tile has room for few words; the page itself says more when the station stays away.
      return isOutage(refusal.problem) ? t('device.refused.notSent') : problemWords(t, locale, refusal.problem);
  }
}

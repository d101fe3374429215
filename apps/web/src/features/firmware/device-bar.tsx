import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import type { Rollout, RolloutTarget } from '@station/protocol/firmware-rollouts';
import { formatPercent } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { classNames } from '../../ui/class-names.ts';
import { targetWords } from './rollout-words.ts';

const fills: Record<RolloutTarget['state'], string> = {
  waiting: 'bg-line-strong',
  updating: 'bg-working',
  updated: 'bg-ok',
  failed: 'bg-fault',
  skipped: 'bg-line-strong',
};

/** How far the update of one device is: in words, in per cent of its download, and as a bar. */
export function DeviceBar({
  rollout,
  target,
  device,
  name,
}: {
  rollout: Pick<Rollout, 'wave' | 'waves'>;
  target: RolloutTarget;
  device: Device | undefined;
  name: string;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { state } = target;
  const percent = state === 'updated' ? 100 : state === 'updating' || state === 'waiting' ? target.percent : null;
  const words = targetWords(t, target, device, rollout);
  const shown = state !== 'updated' && percent !== null ? formatPercent(locale, percent) : null;
  return (
    <>
      <div
        className="my-1 h-2 overflow-hidden rounded-full bg-sunken"
        {...(state === 'updating' && {
          role: 'progressbar',
          'aria-label': t('firmware.target.progress', { name }),
          'aria-valuemin': 0,
          'aria-valuemax': 100,
          'aria-valuenow': percent ?? undefined,
          'aria-valuetext': shown === null ? words : `${words}, ${shown}`,
        })}
      >
        {state === 'updating' && percent === null ? (
          <div className="h-full w-1/3 animate-sweep rounded-full bg-working" />
        ) : (
          <div
            className={classNames('h-full rounded-full transition-[width] duration-500', fills[state])}
            style={{ width: `${state === 'failed' ? 100 : (percent ?? 0)}%` }}
          />
        )}
      </div>
      <div className="flex justify-between gap-4 text-small text-ink-soft">
        <span className={state === 'failed' ? 'text-fault' : undefined}>{words}</span>
        {shown !== null && <span className="tabular-nums">{shown}</span>}
      </div>
    </>
  );
}

import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Device } from '@station/protocol/devices';
import type { Rollout, RolloutTarget } from '@station/protocol/firmware-rollouts';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { targetWords } from './rollout-words.ts';
import { useRollout, useRollouts } from './rollouts.ts';

const fills: Record<RolloutTarget['state'], string> = {
  waiting: 'bg-line-strong',
  updating: 'bg-working',
  updated: 'bg-ok',
  failed: 'bg-fault',
  skipped: 'bg-line-strong',
};

/** Progress of one device's update: as text, in percent of its download, and as a bar. */
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

/** While the device is being updated: how far it is. Nothing otherwise. */
export function FirmwareCard({ device }: { device: Device }) {
  const rollouts = useRollouts();
  if (rollouts.kind !== 'shown') return null;
  // Also for a stopped rollout: a device that has begun finishes its update.
  const under = rollouts.value.filter(({ type, devices }) => type === device.type && devices.updating > 0);
  return under.map((rollout) => <UnderWay key={rollout.id} rollout={rollout} device={device} />);
}

function UnderWay({ rollout, device }: { rollout: Rollout; device: Device }) {
  const { t } = useTranslation();
  const { id, version } = rollout;
  const details = useRollout(id);
  if (details.kind !== 'shown') return null;
  const target = details.value.targets.find(({ deviceId }) => deviceId === device.id);
  if (target?.state !== 'updating') return null;
  return (
    <Card
      title={t('firmware.device.title')}
      aside={
        <Link href="/settings/updates" className="inline-flex min-h-11 items-center rounded-xl text-accent underline">
          {t('firmware.device.page')}
        </Link>
      }
    >
      <p>
        {device.firmwareVersion === null
          ? t('firmware.device.toFirst', { version })
          : t('firmware.device.to', { from: device.firmwareVersion, version })}
      </p>
      <DeviceBar rollout={rollout} target={target} device={device} name={device.name} />
    </Card>
  );
}

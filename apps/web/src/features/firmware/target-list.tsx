import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Device } from '@station/protocol/devices';
import type { Rollout, RolloutTarget } from '@station/protocol/firmware-rollouts';
import { useDevices } from '../../api/use-devices.ts';
import { DeviceBar } from './device-bar.tsx';
import { totalOf } from './rollout-words.ts';
import { useRollout } from './use-firmware.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ReadFault } from '../../ui/read-fault.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { OwnReason } from './own-reason.tsx';

/** So many are always shown, each in its place; of more, at first only those that something is happening to. */
const shownAtOnce = 12;

type Row = { target: RolloutTarget; device: Device | undefined; name: string };

/** A bar for each device of a rollout, by name, so that none of them jumps. */
export function TargetList({ rollout, narrow = false }: { rollout: Rollout; narrow?: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [all, setAll] = useState(false);
  const details = useRollout(rollout.id);
  const devices = useDevices();
  if (details.kind === 'fault') {
    return (
      <div className="mt-4">
        <ReadFault title={t('firmware.detailsFault')} {...details} />
      </div>
    );
  }
  if (details.kind === 'loading' || devices.kind === 'loading') return <Loading count={totalOf(rollout)} />;
  const known = new Map(devices.kind === 'shown' ? devices.devices.map((device) => [device.id, device]) : []);
  const rows = details.value.targets
    .map((target): Row => {
      const device = known.get(target.deviceId);
      return { target, device, name: device?.name ?? t('firmware.target.unknownDevice') };
    })
    .sort((a, b) => a.name.localeCompare(b.name, locale) || a.target.deviceId.localeCompare(b.target.deviceId));
  const isLong = rows.length > shownAtOnce;
  // Also one that has not come back: the others wait for it.
  const isBusy = ({ target: { state, phase } }: Row): boolean =>
    state === 'updating' || state === 'failed' || (state === 'waiting' && phase === 'installing');
  const shown = isLong && !all ? rows.filter(isBusy) : rows;
  return (
    <div className="mt-4 border-t border-line pt-2">
      {shown.length === 0 ? (
        <p className="py-2 text-ink-soft">{t('firmware.rollout.quiet')}</p>
      ) : (
        <ul
          aria-label={t('firmware.rollout.devices')}
          className={classNames('grid grid-cols-1 gap-x-8', !narrow && 'sm:grid-cols-2')}
        >
          {shown.map((row) => (
            <TargetRow key={row.target.deviceId} rollout={rollout} {...row} />
          ))}
        </ul>
      )}
      {isLong && (
        <Button kind="quiet" className="mt-2 -mb-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? t('action.showFewer') : t('firmware.rollout.all', { total: rows.length })}
        </Button>
      )}
    </div>
  );
}

function TargetRow({ rollout, target, device, name }: Row & { rollout: Rollout }) {
  const isBad = target.state === 'failed' || (target.state === 'waiting' && target.failures > 0);
  return (
    <li className="relative min-w-0 py-2">
      {device ? (
        <Link
          href={`/devices/${device.id}`}
          className="rounded-lg break-words after:absolute after:inset-0 after:rounded-lg hover:text-accent"
        >
          {name}
        </Link>
      ) : (
        <span className="text-ink-soft">{name}</span>
      )}
      <DeviceBar rollout={rollout} target={target} device={device} name={name} />
      {isBad && <OwnReason words={target.reason} />}
    </li>
  );
}

function Loading({ count }: { count: number }) {
  return (
    <div aria-hidden className="mt-4 grid grid-cols-1 gap-x-8 border-t border-line pt-2 sm:grid-cols-2">
      {Array.from({ length: Math.min(count, shownAtOnce) }, (_, row) => (
        <div key={row} className="space-y-2 py-2">
          <Skeleton className="h-5 w-32" />
          <Skeleton className="h-2 w-full" />
          <Skeleton className="h-4 w-24" />
        </div>
      ))}
    </div>
  );
}

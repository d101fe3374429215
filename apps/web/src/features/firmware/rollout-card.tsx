import { Check, CircleStop, Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Device } from '@station/protocol/devices';
import type { Rollout, RolloutTarget } from '@station/protocol/firmware-rollouts';
import { useDevices } from '../../api/devices.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { useConfirm } from '../../ui/confirm.tsx';
import { DetailsNote, ProblemNote, ReadFault } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { DeviceBar } from './device-bar.tsx';
import { countWords, isGoing, phaseWords, toneOfRollout, totalOf } from './rollout-words.ts';
import { useRollout, useRolloutAction } from './rollouts.ts';

/** A running rollout, or one whose end needs attention: its phase, its devices and its actions. */
export function RolloutCard({ rollout, mayManage, usable }: { rollout: Rollout; mayManage: boolean; usable: boolean }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const { type, version, createdAt } = rollout;
  const tone = toneOfRollout(rollout);
  const { sentence, help } = phaseWords(t, rollout);
  return (
    <Card
      title={t('firmware.rollout.title', { type: nameOf(type), version })}
      aside={
        <p className="text-small text-ink-soft">
          <Sentence text={(time) => t('firmware.rollout.started', { time })} slot={<TimeAgo at={createdAt} />} />
        </p>
      }
    >
      <div className="flex gap-3">
        {tone !== 'notice' && <ToneIcon tone={tone} className="mt-0.5" />}
        <div className="min-w-0">
          <p role="status" className="font-strong">
            {sentence}
          </p>
          {help !== '' && <p>{help}</p>}
          <p className="text-small text-ink-soft tabular-nums">{countWords(t, rollout)}</p>
          <DetailsNote words={rollout.reason} />
        </div>
      </div>
      <TargetList rollout={rollout} />
      {mayManage && isGoing(rollout) && <RolloutActions rollout={rollout} usable={usable} />}
    </Card>
  );
}

/** Approve, pause, resume, stop: what can be done in the state it is in. */
function RolloutActions({ rollout, usable }: { rollout: Rollout; usable: boolean }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const [question, ask] = useConfirm();
  const act = useRolloutAction(rollout.id);
  const busy = act.isPending;
  const isWaiting = rollout.state === 'waiting_approval';
  const askToStop = (): void =>
    ask({
      title: t(isWaiting ? 'firmware.rollout.stopDialog.rejectTitle' : 'firmware.rollout.stopDialog.title', {
        version: rollout.version,
        type: nameOf(rollout.type),
      }),
      text: (
        <>
          <p>{t(isWaiting ? 'firmware.rollout.stopDialog.nothing' : 'firmware.rollout.stopDialog.underWay')}</p>
          <p>{t('firmware.rollout.stopDialog.again')}</p>
        </>
      ),
      confirm: t(isWaiting ? 'firmware.rollout.stopDialog.rejectConfirm' : 'firmware.rollout.stopDialog.confirm'),
      keep: t(isWaiting ? 'firmware.rollout.stopDialog.rejectKeep' : 'firmware.rollout.stopDialog.keep'),
      run: () => act.mutateAsync('abort'),
    });
  const name = useTypeName()(rollout.type);
  return (
    <section
      aria-label={t('firmware.rollout.title', { type: name, version: rollout.version })}
      className="mt-4 flex flex-col gap-3 border-t border-line pt-4 sm:flex-row sm:flex-wrap"
    >
      {isWaiting && (
        <Button kind="primary" busy={busy} disabled={!usable} onClick={() => act.mutate('approve')}>
          <Check aria-hidden className="size-5" />
          {t('firmware.rollout.approve')}
        </Button>
      )}
      {rollout.state === 'running' && (
        <Button busy={busy} disabled={!usable} onClick={() => act.mutate('pause')}>
          <Pause aria-hidden className="size-5" />
          {t('firmware.rollout.pause')}
        </Button>
      )}
      {rollout.state === 'paused' && (
        <Button kind="primary" busy={busy} disabled={!usable} onClick={() => act.mutate('resume')}>
          <Play aria-hidden className="size-5" />
          {t('firmware.rollout.resume')}
        </Button>
      )}
      <Button disabled={!usable || busy} onClick={askToStop}>
        <CircleStop aria-hidden className="size-5" />
        {t(isWaiting ? 'firmware.rollout.reject' : 'firmware.rollout.stop')}
      </Button>
      {act.error && !question && (
        <div className="basis-full">
          <ProblemNote error={act.error} />
        </div>
      )}
      {question}
    </section>
  );
}

/** Up to this many devices are all shown; of more, at first only those that are active or need attention. */
const shownAtOnce = 12;

type Row = { target: RolloutTarget; device: Device | undefined; name: string };

/** A bar for each device of a rollout, sorted by name, so that none of them moves. */
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
  const known = new Map(devices.kind === 'shown' ? devices.value.map((device) => [device.id, device]) : []);
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
      {isBad && <DetailsNote words={target.reason} />}
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

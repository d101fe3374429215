import { CircleStop, Cpu } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, EmptyNote, Skeleton } from '../../ui/card.tsx';
import { Dimmable, Headline, PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { RolloutCard, TargetList } from './rollout-card.tsx';
import { countWords, firmwareHeadline, isGoing, phaseWords, stoppedLast, toneOfRollout } from './rollout-words.ts';
import { useFirmwareTypes, useRollouts } from './rollouts.ts';
import { TypeCard } from './type-card.tsx';

/** The firmware of the devices, and its rollouts. */
export function FirmwarePage() {
  const { t } = useTranslation();
  const types = useFirmwareTypes();
  const rollouts = useRollouts();
  if (types.kind === 'shown' && rollouts.kind === 'shown') {
    const freshness = types.freshness.kind === 'stale' ? types.freshness : rollouts.freshness;
    return <Shown types={types.value} rollouts={rollouts.value} freshness={freshness} />;
  }
  const failed = types.kind === 'fault' ? types : rollouts.kind === 'fault' ? rollouts : null;
  return (
    <>
      <PageHead page={t('firmware.title')}>
        <PageTitle title={t('firmware.title')}>{t('firmware.lead')}</PageTitle>
      </PageHead>
      {failed ? <ReadFault title={t('firmware.fault')} {...failed} /> : <Loading />}
    </>
  );
}

function Shown({
  types,
  rollouts,
  freshness,
}: {
  types: readonly Firmware[];
  rollouts: readonly Rollout[];
  freshness: Freshness;
}) {
  const { t } = useTranslation();
  const { memory } = useServices();
  const nameOf = useTypeName();
  const mayManage = isManager(useUser().role);
  const stale = freshness.kind === 'stale';
  const stopped = new Set(stoppedLast(rollouts).map(({ id }) => id));
  const isShown = (rollout: Rollout): boolean => isGoing(rollout) || stopped.has(rollout.id);
  const latestEnd = rollouts.reduce((latest, { endedAt }) => ((endedAt ?? '') > latest ? (endedAt ?? '') : latest), '');
  useEffect(() => {
    // The rollout was seen here, so the home page need not show it any more.
    if (latestEnd > (memory.get('read-firmware') ?? '')) memory.set('read-firmware', latestEnd);
  }, [memory, latestEnd]);
  return (
    <>
      <PageHead page={t('firmware.title')} freshness={freshness}>
        <PageTitle title={t('firmware.title')}>
          {types.length === 0 ? (
            t('firmware.lead')
          ) : (
            <Headline {...firmwareHeadline({ t, nameOf }, types, rollouts)} stale={stale} />
          )}
        </PageTitle>
      </PageHead>
      <Dimmable stale={stale}>
        {types.length === 0 ? (
          <Empty />
        ) : (
          <div className="grid grid-cols-1 items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
            <div className="grid grid-cols-1 gap-4 md:gap-6">
              {rollouts.filter(isShown).map((rollout) => (
                <RolloutCard key={rollout.id} rollout={rollout} mayManage={mayManage} usable={!stale} />
              ))}
              {types.map((firmware) => (
                <TypeCard
                  key={firmware.type}
                  firmware={firmware}
                  rollouts={rollouts}
                  mayManage={mayManage}
                  usable={!stale}
                />
              ))}
              {!mayManage && <p className="text-ink-soft">{t('firmware.readOnly')}</p>}
            </div>
            <HistoryCard rollouts={rollouts.filter((rollout) => !isShown(rollout))} />
          </div>
        )}
      </Dimmable>
    </>
  );
}

function Empty() {
  const { t } = useTranslation();
  return <EmptyNote icon={Cpu} title={t('firmware.empty.title')} help={t('firmware.empty.help')} />;
}

function Loading() {
  const { t } = useTranslation();
  return (
    <div
      role="status"
      aria-label={t('app.loading')}
      className="grid items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]"
    >
      <div className="grid gap-4 md:gap-6">
        {Array.from({ length: 2 }, (_, card) => (
          <div key={card} className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
            <Skeleton className="h-6 w-40" />
            <Skeleton className="h-5 w-5/6" />
            <Skeleton className="h-5 w-2/3" />
          </div>
        ))}
      </div>
      <Skeleton className="h-48 rounded-2xl" />
    </div>
  );
}

const shownAtFirst = 5;

/** Rollouts that are over, newest first. */
export function HistoryCard({ rollouts }: { rollouts: readonly Rollout[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  return (
    <Card title={t('firmware.history.title')}>
      {rollouts.length === 0 ? (
        <p className="text-ink-soft">{t('firmware.history.empty')}</p>
      ) : (
        <ol className="space-y-4">
          {(all ? rollouts : rollouts.slice(0, shownAtFirst)).map((rollout) => (
            <Entry key={rollout.id} rollout={rollout} />
          ))}
        </ol>
      )}
      {rollouts.length > shownAtFirst && (
        <Button kind="quiet" className="mt-4 -mb-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </Card>
  );
}

function Entry({ rollout }: { rollout: Rollout }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const [open, setOpen] = useState(false);
  const { type, version, endedAt, createdAt } = rollout;
  const tone = toneOfRollout(rollout);
  const title = t('firmware.rollout.title', { type: nameOf(type), version });
  return (
    <li>
      <div className="flex gap-3">
        {tone === 'notice' ? (
          <CircleStop aria-hidden className="mt-0.5 size-5 shrink-0 text-ink-soft" />
        ) : (
          <ToneIcon tone={tone} className="mt-0.5" />
        )}
        <div className="min-w-0 flex-1">
          <h3 className="font-strong">{title}</h3>
          <p>{phaseWords(t, rollout).sentence}</p>
          <p className="text-small text-ink-soft tabular-nums">
            {countWords(t, rollout) + dot}
            <TimeAgo at={endedAt ?? createdAt} />
          </p>
          <Button
            kind="quiet"
            className="-ml-4"
            aria-expanded={open}
            aria-label={`${t(open ? 'firmware.rollout.hideDevices' : 'firmware.rollout.showDevices')}: ${title}`}
            onClick={() => setOpen(!open)}
          >
            {t(open ? 'firmware.rollout.hideDevices' : 'firmware.rollout.showDevices')}
          </Button>
        </div>
      </div>
      {open && <TargetList rollout={rollout} narrow />}
    </li>
  );
}

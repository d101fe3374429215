import { CircleStop, Cpu } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyNote } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Dimmable, Headline } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import type { TimelineEntry } from '../../ui/timeline.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { RolloutCard, TargetList } from './rollout-card.tsx';
import { countWords, firmwareHeadline, isGoing, phaseWords, stoppedLast, toneOfRollout } from './rollout-words.ts';
import { useFirmwareTypes, useRollouts } from './rollouts.ts';
import { TypeCard } from './type-card.tsx';

/** Firmware of the devices for the page of updates: what runs, what goes on, and what is over. */
export function useDeviceUpdates(): {
  freshness: Freshness | undefined;
  cards: ReactNode;
  entries: readonly TimelineEntry[];
} {
  const { t } = useTranslation();
  const types = useFirmwareTypes();
  const rollouts = useRollouts();
  if (types.kind === 'shown' && rollouts.kind === 'shown') {
    const freshness = types.freshness.kind === 'stale' ? types.freshness : rollouts.freshness;
    const { shown, over } = sorted(rollouts.value);
    return {
      freshness,
      cards: <Shown types={types.value} rollouts={rollouts.value} shown={shown} stale={freshness.kind === 'stale'} />,
      entries: over.map((rollout) => ({
        key: rollout.id,
        at: rollout.endedAt ?? rollout.createdAt,
        row: <Entry rollout={rollout} />,
      })),
    };
  }
  const failed = types.kind === 'fault' ? types : rollouts.kind === 'fault' ? rollouts : null;
  return {
    freshness: undefined,
    cards: failed ? <ReadFault title={t('firmware.fault')} {...failed} /> : <Loading cards={['h-32', 'h-32']} />,
    entries: [],
  };
}

/** What somebody should see, and the others. */
function sorted(rollouts: readonly Rollout[]): { shown: Rollout[]; over: Rollout[] } {
  const stopped = new Set(stoppedLast(rollouts).map(({ id }) => id));
  const isShown = (rollout: Rollout): boolean => isGoing(rollout) || stopped.has(rollout.id);
  return { shown: rollouts.filter(isShown), over: rollouts.filter((rollout) => !isShown(rollout)) };
}

function Shown({
  types,
  rollouts,
  shown,
  stale,
}: {
  types: readonly Firmware[];
  rollouts: readonly Rollout[];
  shown: readonly Rollout[];
  stale: boolean;
}) {
  const { t } = useTranslation();
  const { memory } = useServices();
  const nameOf = useTypeName();
  const mayManage = isManager(useUser().role);
  const latestEnd = rollouts.reduce((latest, { endedAt }) => ((endedAt ?? '') > latest ? (endedAt ?? '') : latest), '');
  useEffect(() => {
    // The rollout was seen here, so the home page need not show it any more.
    if (latestEnd > (memory.get('read-firmware') ?? '')) memory.set('read-firmware', latestEnd);
  }, [memory, latestEnd]);
  return (
    <>
      <div className="mt-2">
        <h2 className="text-title font-strong">{t('firmware.title')}</h2>
        {types.length > 0 && <Headline {...firmwareHeadline({ t, nameOf }, types, rollouts)} stale={stale} />}
      </div>
      <Dimmable stale={stale} className="cards">
        {types.length === 0 && <Empty />}
        {shown.map((rollout) => (
          <RolloutCard key={rollout.id} rollout={rollout} mayManage={mayManage} usable={!stale} />
        ))}
        {types.map((firmware) => (
          <TypeCard key={firmware.type} firmware={firmware} rollouts={rollouts} mayManage={mayManage} usable={!stale} />
        ))}
        {!mayManage && <p className="text-ink-soft">{t('firmware.readOnly')}</p>}
      </Dimmable>
    </>
  );
}

function Empty() {
  const { t } = useTranslation();
  return <EmptyNote icon={Cpu} title={t('firmware.empty.title')} help={t('firmware.empty.help')} />;
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

import { CircleStop } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { typeName } from '../../i18n/device-words.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { countWords } from './rollout-counts.ts';
import { phaseWords, toneOfRollout } from './rollout-words.ts';
import { TargetList } from './target-list.tsx';

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
  const [open, setOpen] = useState(false);
  const { type, version, endedAt, createdAt } = rollout;
  const tone = toneOfRollout(rollout);
  const title = t('firmware.rollout.title', { type: typeName(t, type), version });
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
          <p>{phaseWords(t, rollout).says}</p>
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

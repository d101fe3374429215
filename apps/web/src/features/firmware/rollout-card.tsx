import { useTranslation } from 'react-i18next';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { typeName } from '../../i18n/device-words.ts';
import { isGoing, phaseWords, toneOfRollout } from './rollout-words.ts';
import { Card } from '../../ui/card.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { OwnReason } from './own-reason.tsx';
import { RolloutActions } from './rollout-actions.tsx';
import { countWords } from './rollout-counts.ts';
import { TargetList } from './target-list.tsx';

/** A rollout that is not over, or that ended so that somebody should know: its phase, its devices, what can be done. */
export function RolloutCard({ rollout, mayManage, usable }: { rollout: Rollout; mayManage: boolean; usable: boolean }) {
  const { t } = useTranslation();
  const { type, version, createdAt } = rollout;
  const tone = toneOfRollout(rollout);
  const { says, help } = phaseWords(t, rollout);
  return (
    <Card
      title={t('firmware.rollout.title', { type: typeName(t, type), version })}
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
            {says}
          </p>
          {help !== null && <p>{help}</p>}
          <p className="text-small text-ink-soft tabular-nums">{countWords(t, rollout)}</p>
          <OwnReason words={rollout.reason} />
        </div>
      </div>
      <TargetList rollout={rollout} />
      {mayManage && isGoing(rollout) && <RolloutActions rollout={rollout} usable={usable} />}
    </Card>
  );
}

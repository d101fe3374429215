import { Info } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ConditionStatus } from '@station/protocol/agent-api';
import { type Condition, conditionWords } from '../i18n/condition-words.ts';
import { dot } from '../i18n/words.ts';
import { Card } from './card.tsx';
import { Sentence, TimeAgo } from './sentence.tsx';
import { ToneIcon, toneOfSeverity, type Tone } from './tone.tsx';

const rank: Record<ConditionStatus['severity'], number> = { fault: 0, warning: 1, info: 2 };

type ShownCondition = Condition & Pick<ConditionStatus, 'severity' | 'since'>;

/** What is wrong, the worst first, each with what to do. */
export function ConditionsCard({ conditions }: { conditions: readonly ShownCondition[] }) {
  const { t } = useTranslation();
  const sorted = conditions.toSorted((a, b) => rank[a.severity] - rank[b.severity]);
  return (
    <Card title={t('station.conditions.title')}>
      <ul className="space-y-4">
        {sorted.map((condition) => {
          const { title, help } = conditionWords(t, condition);
          return (
            <li key={condition.id} className="flex gap-3">
              <ConditionIcon tone={toneOfSeverity[condition.severity]} />
              <div className="min-w-0">
                <h3 className="font-strong">{title}</h3>
                {help && <p>{help}</p>}
                <p className="mt-1 text-small text-ink-soft first-letter:uppercase">
                  <Sentence
                    text={(time) => t('station.conditions.since', { time })}
                    slot={<TimeAgo at={condition.since} />}
                  />
                  {dot}
                  <code>{condition.id}</code>
                </p>
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

/** A notice has an icon of its own. */
function ConditionIcon({ tone }: { tone: Tone | 'notice' }) {
  if (tone === 'notice') return <Info aria-hidden className="mt-0.5 size-5 shrink-0 text-ink-soft" />;
  return <ToneIcon tone={tone} className="mt-0.5" />;
}

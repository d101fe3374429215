import { useTranslation } from 'react-i18next';
import type { Flow } from '@station/protocol/automation-flow';
import { sentenceWords, wayWords } from './automation-words.ts';
import { sentenceOf, waysOf } from './sentence.ts';
import type { Surroundings } from './surroundings.ts';

const waysShown = 4;

/** What a flow does, in words: one sentence, or one for each way through it. */
export function Says({ flow, around }: { flow: Flow; around: Surroundings }) {
  const { t } = useTranslation();
  if (flow.nodes.length === 0) return <p className="text-ink-soft">{t('automations.nothing')}</p>;
  const sentence = sentenceOf(flow);
  if (sentence) return <p className="break-words">{sentenceWords(around, sentence)}</p>;
  const ways = waysOf(flow, waysShown + 1);
  return (
    <ul className="space-y-1">
      {ways.slice(0, waysShown).map((way) => (
        <li key={way.map(({ nodeId, isNegated }) => `${nodeId}${String(isNegated)}`).join(' ')} className="break-words">
          {wayWords(around, way)}
        </li>
      ))}
      {ways.length > waysShown && <li className="text-ink-soft">{t('automations.moreWays')}</li>}
    </ul>
  );
}

import { useTranslation } from 'react-i18next';
import type { Flow } from '@station/protocol/automation-flow';
import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { classNames } from '../../ui/class-names.ts';
import { sentenceWords, wayWords } from './automation-words.ts';
import type { Surroundings } from './automations.ts';
import { sentenceOf, waysOf } from './sentence.ts';

const waysShown = 4;

/** What a flow does: one sentence, or one for each path through it. */
export function AutomationSentence({ flow, around }: { flow: Flow; around: Surroundings }) {
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

/** Whether it starts automatically. */
export function StatusBadge({ status }: { status: 'draft' | 'published' }) {
  const { t } = useTranslation();
  const isOn = status === 'published';
  return (
    <span
      className={classNames(
        'shrink-0 rounded-full px-2.5 text-small leading-6 font-strong',
        isOn ? 'bg-accent-soft text-accent' : 'border border-line-strong text-ink-soft',
      )}
    >
      {t(isOn ? 'automations.status.on' : 'automations.status.draft')}
    </span>
  );
}

const dayMs = 24 * 3_600_000;

/** A time in the future, in short form: "21:30", "Mon 07:00", "3 Dec". The reader's own time of day, as the exact one on hover. */
export function NextTime({ at }: { at: string }) {
  const locale = useLocale();
  const { clock } = useServices();
  const then = Date.parse(at);
  const ahead = then - clock.now();
  const format: Intl.DateTimeFormatOptions =
    ahead > 6 * dayMs
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', ...(ahead > dayMs / 2 ? { weekday: 'short' } : {}) };
  return (
    <time dateTime={at} title={formatExact(locale, then)}>
      {new Intl.DateTimeFormat(locale, format).format(then)}
    </time>
  );
}

/** Also shown for the address of a deleted automation. */
export function Gone() {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="text-title font-strong">{t('builder.gone')}</h1>
      <p className="mt-2 text-ink-soft">{t('builder.goneHelp')}</p>
    </>
  );
}

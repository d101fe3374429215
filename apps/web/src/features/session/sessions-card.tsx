import { useTranslation } from 'react-i18next';
import type { SessionList } from '@station/protocol/rest';
import { useCommand } from '../../api/command.ts';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { ProblemNote, ReadFault } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { deviceNameOf } from '../../i18n/browser-name.ts';

type KnownSession = SessionList['sessions'][number];
const sessionsKey = ['sessions'];

/** Where the user is logged in; each other session can be ended here, or all of them. */
export function SessionsCard() {
  const { t } = useTranslation();
  const { session } = useServices();
  const [question, ask] = useConfirm();
  const view = useReading(sessionsKey, 'GET /api/auth/sessions');
  const askToLeave = (): void =>
    ask({
      kind: 'primary',
      title: t('sessions.everywhereAsk'),
      text: <p>{t('sessions.everywhereHelp')}</p>,
      confirm: t('sessions.everywhere'),
      run: () => session.logOut('everywhere'),
    });
  if (view.kind === 'fault') return <ReadFault title={t('sessions.fault')} {...view} />;
  return (
    <Card id="sessions" title={t('sessions.title')}>
      {view.kind === 'loading' ? (
        <Skeleton className="h-12 w-full" />
      ) : (
        <ul className="-my-2 divide-y divide-line">
          {view.value.sessions.map((known) => (
            <Row key={known.id} known={known} usable={view.freshness.kind !== 'stale'} />
          ))}
        </ul>
      )}
      <Button className="mt-4" onClick={askToLeave}>
        {t('sessions.everywhere')}
      </Button>
      {question}
    </Card>
  );
}

function Row({ known, usable }: { known: KnownSession; usable: boolean }) {
  const { t } = useTranslation();
  const { id } = known;
  const end = useCommand((session) => session.call('DELETE /api/auth/sessions/:id', { params: { id } }), {
    reads: sessionsKey,
  });
  const { browser, system } = deviceNameOf(known.userAgent);
  const name =
    browser !== null && system !== null ? t('sessions.device', { browser, system }) : (browser ?? system ?? null);
  return (
    <li className="flex flex-wrap items-center gap-x-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="font-strong break-words">{name ?? t('sessions.unknown')}</p>
        <p className="text-small text-ink-soft">
          {known.isCurrent ? (
            t('sessions.current')
          ) : (
            <Sentence text={(time) => t('sessions.used', { time })} slot={<TimeAgo at={known.usedAt} />} />
          )}
          {known.address !== null && `${dot}${known.address}`}
        </p>
      </div>
      {!known.isCurrent && (
        <Button
          kind="quiet"
          className="-mr-4"
          busy={end.isPending}
          disabled={!usable}
          aria-label={t('sessions.endNamed', { name: name ?? t('sessions.unknown') })}
          onClick={() => end.mutate()}
        >
          {t('sessions.end')}
        </Button>
      )}
      {end.error?.code !== 'not_found' && <ProblemNote error={end.error} />}
    </li>
  );
}

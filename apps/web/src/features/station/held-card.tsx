import { useTranslation } from 'react-i18next';
import type { Quarantined, Status } from '@station/protocol/agent-api';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { DetailsNote, ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { type Manage, useUpdate } from './release-commands.ts';
import { reasonWords } from './station-words.ts';

/** Releases that are not installed automatically, the reason, and a button to install one anyway. */
export function HeldCard({ status, manage }: { status: Status; manage: Manage }) {
  const { t } = useTranslation();
  const update = useUpdate();
  const [question, ask] = useConfirm();
  const current = status.currentVersion;
  const askToInstall = (held: Quarantined): void => {
    const { version } = held;
    const reason = reasonWords(t, held);
    const failedBefore = held.code !== 'rolled_back_by_hand';
    ask({
      kind: 'primary',
      title: t('station.install.title', { version }),
      text: (
        <>
          <p>{t('station.install.before', { reason: reason.sentence ?? `“${reason.own ?? ''}”` })}</p>
          <p>{t('station.install.away')}</p>
          <p>
            {current === null
              ? t(failedBefore ? 'station.install.thenUnknown' : 'station.install.ifUnknown')
              : t(failedBefore ? 'station.install.then' : 'station.install.if', { current })}
          </p>
        </>
      ),
      confirm: t('station.install.confirm', { version }),
      run: () => update.mutate({ version }),
    });
  };
  return (
    <Card title={t('station.held.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('station.held.help')}</p>
      <ul className="space-y-4">
        {status.quarantined.map((held) => {
          const reason = reasonWords(t, held);
          return (
            <li key={held.version} className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
              <div className="min-w-0 flex-1 basis-64">
                <h3 className="font-strong">{held.version}</h3>
                {reason.sentence !== null && <p>{reason.sentence}</p>}
                <DetailsNote words={reason.own} />
                <p className="mt-1 text-small text-ink-soft">
                  <Sentence text={(time) => t('station.held.since', { time })} slot={<TimeAgo at={held.at} />} />
                </p>
              </div>
              {manage.allowed && (
                <Button disabled={!manage.possible} className="w-full sm:w-auto" onClick={() => askToInstall(held)}>
                  {t('station.held.install', { version: held.version })}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      {update.error && (
        <div className="mt-4">
          <ProblemNote error={update.error} />
        </div>
      )}
      {question}
    </Card>
  );
}

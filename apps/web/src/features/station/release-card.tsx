import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { isNewer } from '@station/protocol/version';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { isHeldBack, offeredVersion } from './health.ts';
import { type Manage, useCheck, useRollback, useUpdate } from './release-commands.ts';

/** What runs, what could run, and what ran before. */
export function ReleaseCard({ status, manage }: { status: Status; manage: Manage }) {
  const { t } = useTranslation();
  const check = useCheck();
  const offered = status.operation ? null : offeredVersion(status);
  const nothingYet = status.currentVersion === null && status.stack.services.length === 0;
  const checkButton = (kind: 'quiet' | 'primary') =>
    manage.allowed &&
    !status.operation && (
      <Button
        kind={kind}
        className={kind === 'quiet' ? '-my-2 -mr-4' : 'mt-4 w-full sm:w-auto'}
        busy={check.isPending}
        disabled={!manage.possible}
        onClick={() => check.mutate()}
      >
        {t('station.release.check')}
      </Button>
    );
  return (
    <Card title={t('station.release.title')} aside={!nothingYet && checkButton('quiet')}>
      <p className="text-small text-ink-soft">{t('station.release.installed')}</p>
      <p className="text-value font-strong">
        {status.currentVersion ?? t(nothingYet ? 'station.release.none' : 'station.release.unknown')}
      </p>
      <p className="mt-2 min-h-6 text-ink-soft" role="status">
        <CheckWords status={status} check={check} />
      </p>
      <ProblemNote error={check.error} />
      {nothingYet && !status.operation && (
        <>
          <p className="text-ink-soft">{t('station.release.empty.help')}</p>
          {checkButton('primary')}
        </>
      )}
      {offered !== null && <Offer version={offered} notes={status.latestNotes} manage={manage} />}
      {manage.allowed && status.rollback && !status.operation && (
        <RollbackPart status={status} target={status.rollback.version} manage={manage} />
      )}
      {!manage.allowed && <p className="mt-4 text-small text-ink-soft">{t('station.release.membersOnly')}</p>}
    </Card>
  );
}

function CheckWords({ status, check }: { status: Status; check: ReturnType<typeof useCheck> }) {
  const { t } = useTranslation();
  if (check.isPending) return t('station.release.checking');
  const answer = check.data?.release;
  if (answer && !answer.ok) return t('station.release.checked.failed');
  const { latestVersion: latest, currentVersion: current } = status;
  if (latest !== null && latest !== current && isHeldBack(status, latest)) {
    return t('station.release.availableHeld', { version: latest });
  }
  if (answer && !answer.updateAvailable) return t('station.release.checked.none');
  return current !== null && current === latest ? t('station.release.latest') : null;
}

function Offer({ version, notes, manage }: { version: string; notes: string | null; manage: Manage }) {
  const { t } = useTranslation();
  const update = useUpdate();
  // Between the station's answer and the status that shows the operation, the button stays disabled.
  const [started, setStarted] = useState(false);
  const busy = update.isPending || (started && update.isSuccess);
  return (
    <div className="mt-4 rounded-xl bg-accent-soft p-4">
      <h3 className="text-title font-strong">{t('station.release.available', { version })}</h3>
      <Notes notes={notes} />
      {manage.allowed && (
        <>
          <Button
            kind="primary"
            className="mt-4 w-full sm:w-auto"
            busy={busy}
            disabled={!manage.possible}
            onClick={() => update.mutate({ version }, { onSuccess: () => setStarted(true) })}
          >
            {busy ? t('station.release.starting') : t('station.release.update', { version })}
          </Button>
          <p className="mt-3 text-small text-ink-soft">{t('station.release.consequence')}</p>
        </>
      )}
      {update.error && (
        <div className="mt-3">
          <ProblemNote error={update.error} />
        </div>
      )}
    </div>
  );
}

const longText = 320;

/** The release notes: plain text, or a link when the notes are an address. */
function Notes({ notes }: { notes: string | null }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const text = notes?.trim() ?? '';
  if (text === '') return <p className="mt-1 text-ink-soft">{t('station.release.noNotes')}</p>;
  if (/^https?:\/\/\S+$/.test(text)) {
    return (
      <a
        href={text}
        target="_blank"
        rel="noreferrer"
        className="mt-1 inline-flex min-h-11 items-center font-strong text-accent underline"
      >
        {t('station.release.readNotes')}
      </a>
    );
  }
  const long = text.length > longText || text.split('\n').length > 6;
  return (
    <div className="mt-2">
      <h4 className="sr-only">{t('station.release.notes')}</h4>
      <p className={long && !all ? 'line-clamp-5 whitespace-pre-line' : 'whitespace-pre-line'}>{text}</p>
      {long && (
        <Button kind="quiet" className="-ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </div>
  );
}

/** The previous release, and the rollback to it. `target` is null when its version was never recorded. */
function RollbackPart({ status, target, manage }: { status: Status; target: string | null; manage: Manage }) {
  const { t } = useTranslation();
  const rollback = useRollback();
  const [question, ask] = useConfirm();
  // After a rollback the previous release is the newer one.
  const current = status.currentVersion;
  const isForward = isNewer(target, current);
  // Whether its images are on the station, so that no network is needed.
  const isHere = !status.conditions.some((condition) => condition.id === 'rollback_unavailable');
  const askToRollBack = (): void =>
    ask({
      kind: 'primary',
      title: target === null ? t('station.rollback.titleUnknown') : t('station.rollback.title', { version: target }),
      text: (
        <>
          <p>{t('station.rollback.away')}</p>
          {current !== null && !isForward && <p>{t('station.rollback.held', { current })}</p>}
          {isHere && target !== null && <p>{t('station.rollback.offline', { version: target })}</p>}
        </>
      ),
      confirm:
        target === null ? t('station.rollback.confirmUnknown') : t('station.rollback.confirm', { version: target }),
      ...(current !== null && { keep: t('station.rollback.keep', { current }) }),
      run: () => rollback.mutate(),
    });
  return (
    <div className="mt-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t border-line pt-4">
      <p className="min-w-0 flex-1 basis-56 text-ink-soft">
        {target === null ? t('station.release.previousUnknown') : t('station.release.previous', { version: target })}
      </p>
      <Button
        busy={rollback.isPending}
        disabled={!manage.possible}
        className="w-full sm:w-auto"
        onClick={askToRollBack}
      >
        {target === null
          ? t('station.release.backUnknown')
          : t(isForward ? 'station.release.forthAgain' : 'station.release.back', { version: target })}
      </Button>
      <ProblemNote error={rollback.error} />
      {question}
    </div>
  );
}

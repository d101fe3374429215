import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { isHeldBack, offeredVersion } from './health.ts';
import type { Manage } from './manage.ts';
import { Notes } from './notes.tsx';
import { useCheck, useUpdate } from './release-commands.ts';
import { RollbackPart } from './rollback-part.tsx';

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
      {check.error && <ProblemNote problem={check.error} />}
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
  const habit = t(status.autoUpdate ? 'station.release.auto' : 'station.release.manual');
  return current !== null && current === latest ? `${t('station.release.latest')} ${habit}` : habit;
}

function Offer({ version, notes, manage }: { version: string; notes: string | null; manage: Manage }) {
  const { t } = useTranslation();
  const update = useUpdate();
  // Between the station's "yes" and the status that shows the operation, the button must not offer itself again.
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
          <ProblemNote problem={update.error} />
        </div>
      )}
    </div>
  );
}

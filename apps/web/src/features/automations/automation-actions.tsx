import { Pencil, Play, Power, Trash2, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Automation } from '@station/protocol/automations';
import { startedWords } from './run-words.ts';
import { useDelete, useRunNow, useSwitch } from './use-automations.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { LinkButton } from '../../ui/link-button.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

/** What can be done with one automation. A member may start one that is switched on, and nothing else. */
export function AutomationActions({
  automation,
  isSentence,
  mayManage,
  usable,
  className,
}: {
  automation: Automation;
  isSentence: boolean;
  mayManage: boolean;
  usable: boolean;
  className: string;
}) {
  const { t } = useTranslation();
  const { id, status, faults, hasUnpublishedChanges } = automation;
  const isOn = status === 'published';
  const isSound = faults.every(({ severity }) => severity === 'warning');
  const run = useRunNow(id);
  const publish = useSwitch(id, 'publish');
  return (
    <section
      aria-label={t('automations.page.actions')}
      className={classNames('grid grid-cols-2 gap-3 lg:grid-cols-1', className)}
    >
      {mayManage && (!isOn || hasUnpublishedChanges) && (
        <Button
          kind="primary"
          className="col-span-full"
          busy={publish.isPending}
          disabled={!usable || !isSound}
          onClick={() => publish.mutate()}
        >
          <Power aria-hidden className="size-5" />
          {t(isOn ? 'automations.page.putIntoEffect' : 'automations.page.switchOn')}
        </Button>
      )}
      {(mayManage || isOn) && (
        <Button busy={run.isPending} disabled={!usable || (!isOn && !isSound)} onClick={() => run.mutate()}>
          <Play aria-hidden className="size-5" />
          {t('automations.page.runNow')}
        </Button>
      )}
      {mayManage && isSentence && (
        <LinkButton href={`/automations/${id}/edit`}>
          <Pencil aria-hidden className="size-5" />
          {t('automations.page.edit')}
        </LinkButton>
      )}
      {mayManage && isOn && <ToDraft automation={automation} usable={usable} />}
      {mayManage && <Remove automation={automation} usable={usable} />}
      {!mayManage && <p className="col-span-full text-small text-ink-soft">{t('automations.readOnly')}</p>}
      <p role="status" className="text-small text-ink-soft empty:hidden col-span-full">
        {run.data && startedWords(t, run.data)}
      </p>
      {[run.error, publish.error].map(
        (problem, place) =>
          problem && (
            <div key={place} className="col-span-full">
              <ProblemNote problem={problem} />
            </div>
          ),
      )}
    </section>
  );
}

function ToDraft({ automation: { id, name }, usable }: { automation: Automation; usable: boolean }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const draft = useSwitch(id, 'draft');
  return (
    <>
      <Button busy={draft.isPending} disabled={!usable} onClick={() => setAsking(true)}>
        <Undo2 aria-hidden className="size-5" />
        {t('automations.page.toDraft')}
      </Button>
      {asking && (
        <Dialog
          title={t('automations.page.draftTitle', { name })}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button
                kind="primary"
                busy={draft.isPending}
                onClick={() => draft.mutate(undefined, { onSuccess: () => setAsking(false) })}
              >
                {t('automations.page.draftConfirm')}
              </Button>
              <Button onClick={() => setAsking(false)}>{t('action.cancel')}</Button>
            </>
          }
        >
          <p>{t('automations.page.draftHelp')}</p>
          {draft.error && <ProblemNote problem={draft.error} />}
        </Dialog>
      )}
    </>
  );
}

function Remove({ automation: { id, name }, usable }: { automation: Automation; usable: boolean }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState(false);
  const remove = useDelete(id);
  return (
    <>
      <Button disabled={!usable} onClick={() => setAsking(true)}>
        <Trash2 aria-hidden className="size-5" />
        {t('automations.page.remove')}
      </Button>
      {asking && (
        <Dialog
          title={t('automations.page.removeTitle', { name })}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button
                kind="primary"
                busy={remove.isPending}
                onClick={() => remove.mutate(undefined, { onSuccess: () => navigate('/automations') })}
              >
                {t('automations.page.removeConfirm')}
              </Button>
              <Button onClick={() => setAsking(false)}>{t('automations.page.keep')}</Button>
            </>
          }
        >
          <p>{t('automations.page.removeHelp')}</p>
          {remove.error && <ProblemNote problem={remove.error} />}
        </Dialog>
      )}
    </>
  );
}

import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { BackupInspection, RestoreAnswer, UploadStarted } from '@station/protocol/backup-api';
import { asProblem, pathOf, type Problem } from '../../api/request.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { isSetupCodeWrong, SetupCodeField, setupCodeName } from '../../ui/setup-code-field.tsx';
import { Bar } from './backup-parts.tsx';
import { RestoreFacts } from './restore-confirm.tsx';
import { uploadFile } from './upload.ts';

/** How the requests are made: with a log-in, or with the set-up code. */
export type RestoreCalls = {
  /** @param form the fields above the file, such as the code. */
  begin: (file: { bytes: number; name: string }, form: FormData) => Promise<UploadStarted>;
  /** A backup that the station has, in place of an upload. */
  found?: { text: string; take: (form: FormData) => Promise<UploadStarted> } | null;
  inspect: (upload: string, passphrase: string) => Promise<BackupInspection>;
  /** @param accept doubts that the person knows of. */
  restore: (upload: string, passphrase: string, accept: BackupInspection['doubts']) => Promise<RestoreAnswer>;
};

/** Checking a large backup on a small board takes minutes. */
export const restoreTimeoutMs = 60 * 60_000;
/** One that is at a slow server is fetched first. */
export const inspectTimeoutMs = 60 * 60_000;

type Ready = { upload: string; passphrase: string; found: BackupInspection };

/** Upload, confirm, check, restart, log in. @param asksCode nobody is logged in: the set-up code is the permission. */
export function RestoreFlow({ calls, asksCode = false }: { calls: RestoreCalls; asksCode?: boolean }) {
  const { t } = useTranslation();
  const [sent, setSent] = useState<{ done: number; total: number } | null>(null);
  const [missing, setMissing] = useState({ file: false, passphrase: false });
  const { found = null } = calls;
  const formRef = useRef<HTMLFormElement>(null);
  const send = async (form: FormData): Promise<string> => {
    const file = form.get('file') as File;
    setSent({ done: 0, total: file.size });
    const begin = (bytes: number) => calls.begin({ bytes, name: file.name.slice(0, 300) }, form);
    return uploadFile({ file, begin, onProgress: (done) => setSent({ done, total: file.size }) });
  };
  const run = useMutation({
    onError: (error) => {
      const refused = asProblem(error);
      const code = formRef.current?.elements.namedItem(setupCodeName);
      if (code instanceof HTMLElement && (isCodeMissing(refused) || isSetupCodeWrong(refused))) code.focus();
    },
    mutationFn: async (form: FormData) => {
      const upload = found === null ? await send(form) : (await found.take(form)).id;
      const passphrase = textOf(form, 'passphrase');
      return { upload, passphrase, found: await calls.inspect(upload, passphrase) } satisfies Ready;
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const file = form.get('file');
    const without = {
      file: found === null && (!(file instanceof File) || file.size === 0),
      passphrase: textOf(form, 'passphrase') === '',
    };
    setMissing(without);
    if (!without.file && !without.passphrase && !run.isPending) run.mutate(form);
  };
  const problem = run.error ? asProblem(run.error) : null;
  const isCodeRefused = isCodeMissing(problem) || isSetupCodeWrong(problem);
  if (run.data) return <RestoreReady ready={run.data} calls={calls} onBack={() => run.reset()} />;
  const isSent = found !== null || (sent !== null && sent.done === sent.total);
  return (
    <form ref={formRef} noValidate onSubmit={submit} className="space-y-4">
      <p>{t('backup.restore.replaces')}</p>
      {asksCode && (
        <SetupCodeField problem={problem} fault={isCodeMissing(problem) ? t('error.field.required') : null} />
      )}
      {found === null ? (
        <Field
          label={t('backup.restore.file')}
          help={t('backup.restore.fileHelp')}
          name="file"
          type="file"
          fault={missing.file ? t('backup.restore.noFile') : null}
        />
      ) : (
        <p>{found.text}</p>
      )}
      <Field
        label={t('backup.passphrase.label')}
        name="passphrase"
        type="password"
        maxLength={256}
        fault={missing.passphrase ? t('backup.restore.noPassphrase') : null}
      />
      {problem && !isCodeRefused && <ProblemNote error={problem} />}
      {run.isPending && sent && !isSent && <Bar label={t('backup.restore.sending')} {...sent} />}
      {run.isPending && isSent && <Bar label={t('backup.restore.reading')} done={0} total={0} />}
      <Button kind="primary" type="submit" busy={run.isPending} className="w-full">
        {t('backup.restore.submit')}
      </Button>
    </form>
  );
}

const isCodeMissing = (problem: Problem | null): boolean =>
  problem?.faults.some(({ pointer }) => pointer === `/${setupCodeName}`) === true;

/** Shows what was uploaded; nothing is replaced before it is confirmed. */
function RestoreReady({ ready, calls, onBack }: { ready: Ready; calls: RestoreCalls; onBack: () => void }) {
  const { t } = useTranslation();
  const { upload, passphrase, found } = ready;
  const restore = useMutation({ mutationFn: () => calls.restore(upload, passphrase, found.doubts) });
  if (restore.data) return <RestoreEnd restored={restore.data} />;
  return (
    <div className="space-y-4">
      <RestoreFacts found={found} />
      <p>{t('backup.restore.replaces')}</p>
      <ProblemNote error={restore.error} />
      {restore.isPending && <Bar label={t('backup.restore.checking')} done={0} total={0} />}
      <Button kind="danger" busy={restore.isPending} className="w-full" onClick={() => restore.mutate()}>
        {t(found.doubts.length === 0 ? 'backup.restore.confirm' : 'backup.restore.confirmAnyway')}
      </Button>
      <Button className="w-full" disabled={restore.isPending} onClick={onBack}>
        {t('action.cancel')}
      </Button>
    </div>
  );
}

/** Waits until the station runs with the backup, then leads to the log-in. */
export function RestoreEnd({ restored }: { restored: RestoreAnswer }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [isBack, setIsBack] = useState(false);
  useEffect(() => {
    const timer = setInterval(() => void isStationBack().then((back) => back && setIsBack(true)), 2_000);
    return () => clearInterval(timer);
  }, []);
  const time = formatExact(locale, Date.parse(restored.createdAt));
  return (
    <div className="space-y-4">
      <h2 role="status" className="font-strong">
        {t(isBack ? 'backup.restore.done' : 'backup.restore.restarting')}
      </h2>
      <p>{t('backup.restore.doneHelp', { name: restored.stationName, time })}</p>
      {restored.missing.includes('agent') && <p className="text-ink-soft">{t('backup.restore.missingAgent')}</p>}
      <Button kind="primary" className="w-full" disabled={!isBack} onClick={() => location.assign('/')}>
        {t('backup.restore.login')}
      </Button>
    </div>
  );
}

/** The restored station has an owner. */
async function isStationBack(): Promise<boolean> {
  try {
    const response = await fetch(pathOf('GET /api/auth/setup'), {
      cache: 'no-store',
      signal: AbortSignal.timeout(5_000),
    });
    return response.ok && !((await response.json()) as { needed: boolean }).needed;
  } catch {
    return false;
  }
}

import { useTranslation } from 'react-i18next';
import type { DoctorCheck, DoctorReport, DoctorStatus, SystemDoctor } from '@station/protocol/doctor';
import { orElse } from '../../i18n/words.ts';
import { useCommand } from '../../api/command.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon, type Tone } from '../../ui/tone.tsx';

/** The checks of both programs, and of the agent's Compose. */
const checkTimeoutMs = 100_000;

/** Checks the station when asked, and makes a file for support. */
export function DiagnosticsCard({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const check = useCommand((session) => session.call('GET /api/system/doctor', { timeoutMs: checkTimeoutMs }));
  const file = useCommand((session) => session.call('GET /api/system/diagnostics', { timeoutMs: checkTimeoutMs }), {
    keep: (_queries, content) => saveFile(content),
  });
  const problem: unknown = check.error ?? file.error;
  return (
    <Card title={t('diagnostics.title')}>
      <p className="text-ink-soft">{t('diagnostics.help')}</p>
      <div className="mt-3 flex flex-wrap gap-x-6 gap-y-1">
        <Button busy={check.isPending} disabled={!usable} onClick={() => check.mutate()}>
          {t(check.data ? 'diagnostics.again' : 'diagnostics.check')}
        </Button>
        <Button kind="quiet" className="-mx-4" busy={file.isPending} disabled={!usable} onClick={() => file.mutate()}>
          {t('diagnostics.file')}
        </Button>
      </div>
      <p className="mt-2 text-small text-ink-soft">{t('diagnostics.fileHelp')}</p>
      <div role="status" className="mt-3 space-y-4">
        {check.isPending && <p className="text-ink-soft">{t('diagnostics.checking')}</p>}
        {!check.isPending && check.data && <Result result={check.data} />}
      </div>
      <ProblemNote error={problem} />
    </Card>
  );
}

function saveFile(content: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `station-diagnostics-${new Date().toISOString().slice(0, 10)}.json`;
  link.click();
  URL.revokeObjectURL(url);
}

function Result({ result: { backend, agent, agentMissing } }: { result: SystemDoctor }) {
  const { t } = useTranslation();
  const checks = [...backend.checks, ...(agent?.checks ?? [])];
  const count = (status: DoctorStatus): number => checks.filter((check) => check.status === status).length;
  const words = [
    count('fault') > 0 ? t('diagnostics.faults', { count: count('fault') }) : '',
    count('warning') > 0 ? t('diagnostics.warnings', { count: count('warning') }) : '',
  ].filter((text) => text !== '');
  return (
    <>
      <p className="font-strong">{words.join(', ') || t('diagnostics.well')}</p>
      {agentMissing && <p>{t(`diagnostics.missing.${agentMissing}`)}</p>}
      <Checks checks={checks.filter(({ status }) => status !== 'ok')} />
      <details>
        <summary className="min-h-11 cursor-pointer content-center">{t('diagnostics.allChecks')}</summary>
        <Report report={backend} />
        {agent && <Report report={agent} />}
      </details>
    </>
  );
}

function Report({ report: { program, version, checks } }: { report: DoctorReport }) {
  const { t } = useTranslation();
  return (
    <section className="mt-3">
      <h3 className="font-strong">
        {t(`diagnostics.program.${program}`)} {version}
      </h3>
      <Checks checks={checks} />
    </section>
  );
}

const tones: Record<DoctorStatus, Tone> = { ok: 'ok', warning: 'attention', fault: 'fault', unknown: 'attention' };

function Checks({ checks }: { checks: readonly DoctorCheck[] }) {
  const { t } = useTranslation();
  return (
    <ul className="mt-2 space-y-3">
      {checks.map(({ id, title, status, detail, findings }) => (
        <li key={id} className="flex gap-3">
          <ToneIcon tone={tones[status]} className="mt-0.5" />
          <div className="min-w-0">
            <h4 className="font-strong">
              {orElse(t, `diagnostics.name.${id}`, title)}
              <span className="sr-only">: {t(`diagnostics.status.${status}`)}</span>
            </h4>
            {detail !== null && <p className="text-small break-words text-ink-soft">{detail}</p>}
            {findings.map((finding) => (
              <Finding key={finding.code + finding.message} finding={finding} />
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** In English in the station's own words; so is what a newer station finds and this page does not know. */
function Finding({ finding: { code, message, help, values } }: { finding: DoctorCheck['findings'][number] }) {
  const { t } = useTranslation();
  const translated = orElse(t, `finding.${code}.message`, '', values);
  return (
    <div lang={translated === '' ? 'en' : undefined} className="break-words">
      <p>{translated || message}</p>
      <p className="text-ink-soft">{orElse(t, `finding.${code}.help`, help, values)}</p>
    </div>
  );
}

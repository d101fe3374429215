import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { agentLog } from '@station/protocol/agent-machine';
import { isManager } from '@station/protocol/roles';
import { saveFile } from '../../api/download.ts';
import { useServices, useUser } from '../../api/services.ts';
import { useStatus } from '../../api/station.ts';
import { formatClock } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { copyText } from '../../ui/copy-text.ts';
import { Field, Select } from '../../ui/fields.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';
import { followLog } from './follow-log.ts';
import {
  asText,
  keepLines,
  type KeptLine,
  type LogFilter,
  type LogLevel,
  matching,
  readable,
  sinceOf,
} from './log-view.ts';
import { serviceName } from './station-words.ts';

/** More would make the page slow, and nobody reads them; the file has all. */
const mostShown = 500;
/** Lines come in bursts; so often they are drawn. */
const drawEveryMs = 250;

/** What the agent and the services of the stack write, live. */
export function LogPage() {
  const { t } = useTranslation();
  const { role } = useUser();
  return (
    <>
      <PageHead page={t('log.title')}>
        <PageTitle title={t('log.title')}>{t(isManager(role) ? 'log.help' : 'log.membersOnly')}</PageTitle>
      </PageHead>
      {isManager(role) && <LiveLog />}
    </>
  );
}

/** All lines that the page keeps. While it is paused they are kept, but not drawn. */
function useLog(isPaused: boolean): { lines: readonly KeptLine[]; isLive: boolean } {
  const { session } = useServices();
  const [lines, setLines] = useState<readonly KeptLine[]>([]);
  const [isLive, setIsLive] = useState(false);
  const kept = useRef<readonly KeptLine[]>([]);
  useEffect(() => {
    const ending = new AbortController();
    void followLog({
      session,
      since: () => sinceOf(kept.current),
      onLines: (more) => (kept.current = keepLines(kept.current, more)),
      onLive: (live) => !ending.signal.aborted && setIsLive(live),
      signal: ending.signal,
    });
    return () => ending.abort();
  }, [session]);
  useEffect(() => {
    if (isPaused) return undefined;
    const draw = (): void => setLines(kept.current);
    draw();
    const timer = setInterval(draw, drawEveryMs);
    return () => clearInterval(timer);
  }, [isPaused]);
  return { lines, isLive };
}

function LiveLog() {
  const { t } = useTranslation();
  const [filter, setFilter] = useState<LogFilter>({ service: null, level: 'all', text: '' });
  const [isPaused, setIsPaused] = useState(false);
  const { lines, isLive } = useLog(isPaused);
  const shown = matching(lines, filter);
  return (
    <Card
      title={t('log.title')}
      aside={<span role="status">{t(isPaused ? 'log.paused' : isLive ? 'log.live' : 'log.waiting')}</span>}
    >
      <Filters filter={filter} onChange={setFilter} />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button onClick={() => setIsPaused(!isPaused)}>{t(isPaused ? 'log.resume' : 'log.pause')}</Button>
        <TakeAway lines={shown} />
      </div>
      <p className="mt-3 text-small text-ink-soft">
        {t('log.shown', { count: shown.length })}
        {shown.length > mostShown && ` ${t('log.more', { count: mostShown })}`}
      </p>
      <Lines
        lines={shown.slice(-mostShown)}
        empty={t(lines.length === 0 ? 'log.none' : 'log.noneMatch')}
        follows={!isPaused}
      />
    </Card>
  );
}

const levels: readonly LogLevel[] = ['all', 'warn', 'error'];

function Filters({ filter, onChange }: { filter: LogFilter; onChange: (filter: LogFilter) => void }) {
  const { t } = useTranslation();
  const status = useStatus();
  const services = status.kind === 'shown' ? status.value.stack.services.map(({ name }) => name) : [];
  const { service, level, text } = filter;
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      <Select
        label={t('log.service')}
        value={service ?? ''}
        onChange={({ target }) => onChange({ ...filter, service: target.value || null })}
      >
        <option value="">{t('log.all')}</option>
        <option value={agentLog}>{t('log.agent')}</option>
        {services.map((name) => (
          <option key={name} value={name}>
            {serviceName(t, name)}
          </option>
        ))}
      </Select>
      <Select
        label={t('log.level')}
        value={level}
        onChange={({ target }) => onChange({ ...filter, level: target.value as LogLevel })}
      >
        {levels.map((each) => (
          <option key={each} value={each}>
            {t(`log.levels.${each}`)}
          </option>
        ))}
      </Select>
      <Field
        label={t('log.text')}
        className="col-span-2 sm:col-span-1"
        type="search"
        value={text}
        isCode
        fault={null}
        onChange={({ target }) => onChange({ ...filter, text: target.value })}
      />
    </div>
  );
}

function TakeAway({ lines }: { lines: readonly KeptLine[] }) {
  const { t } = useTranslation();
  const button = useRef<HTMLSpanElement>(null);
  const [copied, setCopied] = useState<boolean | null>(null);
  const save = (): void => {
    const name = `station-log-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.txt`;
    saveFile({ name, content: new Blob([asText(lines)], { type: 'text/plain' }) });
  };
  return (
    <>
      <span ref={button}>
        <Button
          disabled={lines.length === 0}
          onClick={() => void copyText(asText(lines), button.current).then(setCopied)}
        >
          {t('log.copy')}
        </Button>
      </span>
      <Button disabled={lines.length === 0} onClick={save}>
        {t('log.save')}
      </Button>
      <span role="status" className="self-center text-small text-ink-soft">
        {copied !== null && t(copied ? 'log.copied' : 'log.notCopied')}
      </span>
    </>
  );
}

const looks: Record<KeptLine['level'], string> = { info: '', warn: 'text-attention', error: 'text-fault' };

/** It stays at the newest line, unless somebody has scrolled up. */
function Lines({ lines, empty, follows }: { lines: readonly KeptLine[]; empty: string; follows: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const last = lines.at(-1)?.id;
  useEffect(() => {
    if (box.current && follows && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [last, follows]);
  return (
    <div
      ref={box}
      role="region"
      aria-label={t('log.lines')}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
      className="mt-2 h-[60vh] overflow-auto rounded-xl border border-line bg-sunken p-3 font-mono text-small"
    >
      {lines.length === 0 && <p className="font-sans text-ink-soft">{empty}</p>}
      {lines.map(({ id, time, service, text, level }) => (
        <p key={id} className={classNames('break-words whitespace-pre-wrap', looks[level])}>
          <span className="text-ink-soft">
            {formatClock(locale, Date.parse(time))} {service}{' '}
          </span>
          {readable(text)}
        </p>
      ))}
    </div>
  );
}

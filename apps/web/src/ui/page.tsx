import { useQuery } from '@tanstack/react-query';
import { Unplug } from 'lucide-react';
import { Component, createContext, lazy, type ReactNode, Suspense, useContext, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Freshness } from '../api/reading.ts';
import { useServices, useStore } from '../api/services.ts';
import { stationKey } from '../api/station.ts';
import { formatMoment } from '../i18n/format.ts';
import { loadLaterTexts, useLocale } from '../i18n/i18n.ts';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { BackLink } from './links.tsx';
import type { MenuStart } from './menu.tsx';
import { SearchButton } from './search-button.tsx';
import { type Tone, ToneDisc, ToneIcon } from './tone.tsx';

/** The page above the open one, for its head; null: there is none, or the page names it itself. */
export const AboveContext = createContext<{ href: string; name: string } | null>(null);

/** Name of the station and state of the connection, the way to the page above, then the main message of the page. */
export function PageHead({
  page,
  freshness,
  restarting = false,
  children,
}: {
  page: string;
  freshness?: Freshness;
  restarting?: boolean;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const name = useStationName() ?? t('app.name');
  const above = useContext(AboveContext);
  useEffect(() => {
    document.title = page === name ? page : `${page} · ${name}`;
  }, [page, name]);
  return (
    <header className="mb-6 md:mb-8">
      <div className="mb-4 flex min-h-8 items-center justify-between gap-4 text-small text-ink-soft">
        <p className="min-w-0 flex-1 truncate">{name}</p>
        {freshness && <FreshnessMark freshness={freshness} restarting={restarting} />}
        <div className="-my-1.5 -mr-2 flex shrink-0">
          <SearchButton className="grid size-11 place-items-center rounded-xl text-ink hover:bg-sunken md:hidden" />
          <Avatar />
        </div>
      </div>
      {above && <BackLink href={above.href}>{above.name}</BackLink>}
      {children}
    </header>
  );
}

let isMenuThere = false;

/** Its texts are those of later pages. */
const AvatarMenu = lazy(async () => {
  const [{ AvatarMenu: Shown }] = await Promise.all([import('./avatar-menu.tsx'), loadLaterTexts()]);
  isMenuThere = true;
  return { default: Shown };
});
/** On a slow network what the page shows comes first. */
const menuAfterMs = 2_000;

/** Who is logged in, with what concerns this person alone. The menu is fetched when the page stands, or when somebody reaches for it. */
function Avatar() {
  const { t } = useTranslation();
  const state = useStore(useServices().session.state);
  const [start, setStart] = useState<MenuStart | null>(isMenuThere ? 'closed' : null);
  useEffect(() => {
    const timer = setTimeout(() => setStart((asked) => asked ?? 'closed'), menuAfterMs);
    return () => clearTimeout(timer);
  }, []);
  if (state.kind !== 'signed_in') return null;
  const { name } = state.user;
  const look = 'grid size-11 place-items-center rounded-xl hover:bg-sunken';
  const letter = (
    <span aria-hidden className="grid size-8 place-items-center rounded-full bg-accent-soft font-strong text-accent">
      {[...name][0]?.toUpperCase()}
    </span>
  );
  const label = t('account.menu', { name });
  const waiting = (
    <button
      type="button"
      aria-haspopup="menu"
      aria-expanded={false}
      aria-label={label}
      title={label}
      className={look}
      onFocus={() => setStart('focused')}
      onClick={() => setStart('open')}
    >
      {letter}
    </button>
  );
  if (start === null) return waiting;
  return (
    <Suspense fallback={waiting}>
      <AvatarMenu label={label} start={start} className={look}>
        {letter}
      </AvatarMenu>
    </Suspense>
  );
}

/** The title of a page, and what it says under it. */
export function PageTitle({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h1 className="text-title font-strong md:text-value">{title}</h1>
      <div className="mt-1 text-ink-soft">{children}</div>
    </>
  );
}

/** The state of what the page is about, in one sentence. */
export function Headline({ tone, words, stale }: { tone: Tone; words: string; stale: boolean }) {
  return (
    <span className={classNames('flex gap-2 text-ink', stale && 'dimmed')}>
      <ToneIcon tone={tone} className="mt-0.5" />
      <span aria-live="polite" className="min-w-0">
        {words}
      </span>
    </span>
  );
}

/** Content that is dimmed while it is out of date. */
export function Dimmable({ stale, className, children }: { stale: boolean; className?: string; children: ReactNode }) {
  return (
    <div className={classNames('text-ink transition-[filter] duration-500', className, stale && 'dimmed')}>
      {children}
    </div>
  );
}

function useStationName(): string | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: stationKey,
    queryFn: ({ signal }) => session.call('GET /api/station', { signal }),
    staleTime: 60_000,
    retry: 5,
  });
  return data?.name ?? null;
}

/** A short word that is always shown, and a sentence over the page while the connection is lost. */
function FreshnessMark({ freshness, restarting }: { freshness: Freshness; restarting: boolean }) {
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  const word = {
    connecting: 'link.connecting',
    live: 'link.live',
    polling: 'link.polling',
    stale: 'link.lostShort',
  } as const;
  return (
    <div className="shrink-0">
      <p className="flex items-center gap-2">
        <span
          aria-hidden
          className={classNames(
            'size-2 rounded-full',
            freshness.kind === 'live' ? 'bg-ok' : 'border border-ink-soft',
            freshness.kind === 'connecting' && 'animate-breathe',
          )}
        />
        {t(word[freshness.kind])}
      </p>
      <div role="status">{stale && <StaleNote freshness={freshness} restarting={restarting} />}</div>
    </div>
  );
}

function StaleNote({
  freshness,
  restarting,
}: {
  freshness: Extract<Freshness, { kind: 'stale' }>;
  restarting: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { live } = useServices();
  const time = formatMoment(locale, freshness.lastUpdateAt, Date.now());
  // What is shown was kept by the browser.
  const wasNeverThere = useStore(live.state).hello === null;
  const sentence = restarting
    ? 'link.restarting'
    : freshness.because === 'agent_silent'
      ? 'link.agentSilent'
      : wasNeverThere
        ? 'link.unreachable'
        : 'link.lost';
  return (
    <div className="note-place flex gap-3 text-body text-ink">
      <Unplug aria-hidden className="mt-0.5 size-5 shrink-0 text-ink-soft" />
      <p>
        {t(sentence, { time })} <span className="text-ink-soft">{t('link.byItself')}</span>
      </p>
    </div>
  );
}

/** A whole page with a single message. */
export function Centered({
  tone,
  title,
  help,
  children,
}: {
  tone: Tone;
  title: string;
  help: string;
  children?: ReactNode;
}) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col items-center justify-center gap-4 p-6 text-center">
      <ToneDisc tone={tone} large />
      <div role="status">
        <h1 className="text-title font-strong">{title}</h1>
        <p className="mt-2 text-ink-soft">{help}</p>
      </div>
      {children}
    </main>
  );
}

/**
 * A fault of the page itself, or of a part of it: then `instead` is shown. The only class here: React has no other form for it.
 */
export class ErrorBoundary extends Component<{ children: ReactNode; instead?: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  override render(): ReactNode {
    const { children, instead = <Broken /> } = this.props;
    return this.state.broken ? instead : children;
  }
}

function Broken() {
  const { t } = useTranslation();
  return (
    <Centered tone="fault" title={t('app.broken.title')} help={t('app.broken.help')}>
      <Button kind="primary" onClick={() => location.reload()}>
        {t('app.reload')}
      </Button>
    </Centered>
  );
}

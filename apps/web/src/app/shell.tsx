import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { isLimited, reaches } from '@station/protocol/roles';
import { useServices, useStore, useUser } from '../api/services.ts';
import { useStatus } from '../api/station.ts';
import { Button } from '../ui/button.tsx';
import { classNames } from '../ui/class-names.ts';
import { LinkButton } from '../ui/links.tsx';
import { AboveContext, ErrorBoundary, PageHead, PageTitle } from '../ui/page.tsx';
import { SearchButton } from '../ui/search-button.tsx';
import { Loading } from '../ui/loading.tsx';
import { movedPlaces } from './place-marks.ts';
import {
  AddDevicePage,
  AutomationPage,
  DevicePage,
  EditAutomationPage,
  ScenePlace,
  NewAutomationPage,
  OperationPin,
  Palette,
  places,
  preloads,
  LogPage,
  ToastNote,
  UnknownDevicesPage,
} from './places.ts';

/** The frame around every page: places at the bottom on a phone, at the side on a desk. */
export function Shell({ fetchAhead }: { fetchAhead: (loads: typeof preloads) => Promise<void> }) {
  const { t } = useTranslation();
  const main = useRef<HTMLElement>(null);
  const { role } = useUser();
  const seesAll = !isLimited(role);
  const [path, navigate] = useLocation();
  useOpenedNotifications(navigate);
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  useEffect(() => {
    // The other pages are small: have them here before the connection is lost.
    const timer = setTimeout(() => void fetchAhead(preloads), 2_000);
    return () => clearTimeout(timer);
  }, [fetchAhead]);
  return (
    <div className="md:pl-28">
      <a
        href="#content"
        className="fixed top-2 left-2 z-30 -translate-y-20 rounded-xl bg-accent px-4 py-3 text-accent-ink focus:translate-y-0"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {t('app.skip')}
      </a>
      <Places path={path} />
      <main
        ref={main}
        id="content"
        tabIndex={-1}
        className="mx-auto max-w-5xl px-4 pt-4 pb-28 md:px-8 md:pt-8 md:pb-16"
      >
        <ErrorBoundary key={path}>
          <Suspense fallback={<Loading cards={['h-5 w-32', 'h-14 w-3/4', 'h-48']} />}>
            <Switch>
              {places
                .filter(({ lowest }) => reaches(role, lowest))
                .map(({ path: at, Page }) => (
                  <Route key={at} path={at} component={Page} />
                ))}
              <Route path="/devices/:id">{({ id }) => <DevicePage key={id} id={id} role={role} />}</Route>
              {seesAll && pagesOfTheWhole}
              {movedPlaces.map(([before, now]) => (
                <Route key={before} path={before}>
                  <Redirect to={now} replace />
                </Route>
              ))}
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </main>
      <OutdatedNote />
      <Toasts />
      <Finder />
      <OperationCorner path={path} />
    </div>
  );
}

/** Pages without a place of their own that are not for those who see some zones only. */
const pagesOfTheWhole = (
  <>
    <Route path="/automations/new">
      <NewAutomationPage />
    </Route>
    <Route path="/automations/:id/edit">{({ id }) => <EditAutomationPage key={id} id={id} />}</Route>
    <Route path="/automations/:id">{({ id }) => <AutomationPage key={id} id={id} />}</Route>
    <Route path="/scenes/new">
      <ScenePlace id={null} />
    </Route>
    <Route path="/scenes/:id">{({ id }) => <ScenePlace key={id} id={id} />}</Route>
    <Route path="/add/:way?">{({ way }) => <AddDevicePage way={way} />}</Route>
    <Route path="/settings/log" component={LogPage} />
    <Route path="/unknown-devices">
      <UnknownDevicesPage />
    </Route>
  </>
);

/** Tells the head of each page which one is above it. */
export function Above({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const [path] = useLocation();
  const above = isBelowSettings(path) ? { href: '/settings', name: t('nav.settings') } : null;
  return <AboveContext value={above}>{children}</AboveContext>;
}

/** A tapped notification shows its page here (`public/push-worker.js`). */
function useOpenedNotifications(navigate: (path: string) => void): void {
  useEffect(() => {
    // Absent on a page without encryption.
    const worker = 'serviceWorker' in navigator ? navigator.serviceWorker : null;
    const onMessage = ({ data }: MessageEvent<unknown>): void => {
      const { type, path } = (data ?? {}) as { type?: unknown; path?: unknown };
      if (type === 'station_open' && typeof path === 'string') navigate(path);
    };
    worker?.addEventListener('message', onMessage);
    return () => worker?.removeEventListener('message', onMessage);
  }, [navigate]);
}

/** The place of the bar that a page belongs to: those that the bar does not show are below the settings. */
function placeOf(path: string): string {
  if (path === '/') return '/';
  if (/^\/(add|unknown-devices)(\/|$)/.test(path)) return '/devices';
  if (/^\/scenes(\/|$)/.test(path)) return '/automations';
  const bar = places.find((one) => one.on === 'bar' && one.path !== '/' && `${path}/`.startsWith(`${one.path}/`));
  const above = `/${path.split('/')[1]}`;
  return bar?.path ?? (isBelowSettings(path) || isBelowSettings(above) ? '/settings' : '');
}

const isBelowSettings = (path: string): boolean =>
  path.startsWith('/settings/') || places.some((one) => one.on === 'settings' && path === one.path);

function Places({ path }: { path: string }) {
  const { t } = useTranslation();
  const { role } = useUser();
  return (
    <nav
      aria-label={t('app.places')}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:inset-y-0 md:right-auto md:w-28 md:overflow-y-auto md:border-t-0 md:border-r md:pt-6"
    >
      <img src="/icon.svg" alt="" width="36" height="36" className="mx-auto mb-6 hidden rounded-lg md:block" />
      <div className="mb-4 hidden px-2 md:block">
        <SearchButton
          withWord
          className="flex min-h-11 w-full items-center justify-center gap-2 rounded-xl border border-line-strong text-small text-ink-soft hover:bg-sunken hover:text-ink"
        />
      </div>
      <ul className="flex justify-around md:flex-col md:gap-2 md:px-2">
        {places.map((place) => {
          const { path: at, icon: Icon } = place;
          if (place.on !== 'bar' || !reaches(role, place.lowest)) return null;
          const here = placeOf(path) === at;
          return (
            <li key={at} className="min-w-0 flex-auto md:flex-none">
              <Link
                href={at}
                aria-current={here ? 'page' : undefined}
                className={classNames(
                  'flex min-h-16 flex-col items-center justify-center gap-1 text-[0.75rem] md:rounded-xl md:text-small',
                  here ? 'font-strong text-accent' : 'text-ink-soft hover:text-ink',
                )}
              >
                <span className={classNames('rounded-full px-2.5 py-1 md:px-4', here && 'bg-accent-soft')}>
                  <Icon aria-hidden className="size-5" />
                </span>
                <span className="max-w-full truncate">{t(`nav.${place.name}`)}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function NotFound() {
  const { t } = useTranslation();
  return (
    <>
      <PageHead page={t('app.notFound.title')}>
        <PageTitle title={t('app.notFound.title')}>{t('app.notFound.help')}</PageTitle>
      </PageHead>
      <LinkButton href="/">{t('app.notFound.home')}</LinkButton>
    </>
  );
}

/** The search of the app: a button, `/` where no text is written, and Ctrl-K everywhere. */
function Finder() {
  const { finding } = useServices();
  const isOpen = useStore(finding);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isSlash =
        event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isWriting(event.target);
      const isCtrlK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
      // Over a dialog the search would hide what is asked there.
      if ((!isSlash && !isCtrlK) || event.defaultPrevented || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      finding.set(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [finding]);
  if (!isOpen) return null;
  return (
    <ErrorBoundary>
      <Suspense>
        <Palette onClose={() => finding.set(false)} />
      </Suspense>
    </ErrorBoundary>
  );
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));

/** An operation of the station, from its start on; its result stays until it is read. */
function OperationCorner({ path }: { path: string }) {
  const view = useStatus();
  const status = view.kind === 'shown' ? view.value : null;
  const [isWatched, setWatched] = useState(false);
  if (status?.operation && !isWatched) setWatched(true);
  if (!isWatched || !status) return null;
  return (
    <ErrorBoundary>
      <Suspense>
        <OperationPin status={status} isOnStationPage={path === '/settings/updates'} />
      </Suspense>
    </ErrorBoundary>
  );
}

/** What was done and can be undone: one live region for all pages. */
function Toasts() {
  const { toast } = useServices();
  const shown = useStore(toast);
  const [close] = useState(() => () => toast.set(null));
  return (
    <div role="status">
      {shown && (
        <Suspense>
          <ToastNote key={shown.words} toast={shown} onClose={close} />
        </Suspense>
      )}
    </div>
  );
}

/** Lies over the page, so that nothing moves when it comes. */
function OutdatedNote() {
  const { t } = useTranslation();
  const { live, outdated } = useServices();
  const isOutdated = useStore(outdated);
  const { link } = useStore(live.state);
  // While the connection is lost there is another note in its place, and nothing to load.
  if (!isOutdated || link !== 'live') return null;
  return (
    <div role="status" className="note-place flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
      <p className="flex-1 basis-56">{t('app.outdated')}</p>
      <Button onClick={() => location.reload()}>{t('app.reload')}</Button>
    </div>
  );
}

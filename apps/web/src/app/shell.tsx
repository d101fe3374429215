import { Suspense, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useServices, useStore } from '../api/services.ts';
import { Button } from '../ui/button.tsx';
import { classNames } from '../ui/class-names.ts';
import { ErrorBoundary } from '../ui/page.tsx';
import { Skeleton } from '../ui/card.tsx';
import {
  AddDevicePage,
  AutomationPage,
  DevicePage,
  EditAutomationPage,
  NewAutomationPage,
  type Place,
  places,
  preloads,
  BackupPage,
  UnknownDevicesPage,
} from './places.ts';

/** The frame around every page: places at the bottom on a phone, at the side on a desk. */
export function Shell({ fetchAhead }: { fetchAhead: (loads: typeof preloads) => Promise<void> }) {
  const { t } = useTranslation();
  const main = useRef<HTMLElement>(null);
  const [path] = useLocation();
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
          <Suspense fallback={<PageSkeleton />}>
            <Switch>
              {places.map(({ path: at, Page }) => (
                <Route key={at} path={at} component={Page} />
              ))}
              <Route path="/automations/new">
                <NewAutomationPage />
              </Route>
              <Route path="/automations/:id/edit">{({ id }) => <EditAutomationPage key={id} id={id} />}</Route>
              <Route path="/automations/:id">{({ id }) => <AutomationPage key={id} id={id} />}</Route>
              <Route path="/add/:way?">{({ way }) => <AddDevicePage way={way} />}</Route>
              <Route path="/settings/backup" component={BackupPage} />
              <Route path="/unknown-devices">
                <UnknownDevicesPage />
              </Route>
              <Route path="/devices/:id">{({ id }) => <DevicePage key={id} id={id} />}</Route>
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </main>
      <OutdatedNote />
    </div>
  );
}

/** A page below a place belongs to it; only home has all the others below its address. */
const isHere = (place: string, path: string): boolean =>
  place === '/'
    ? /^\/($|(devices|add|unknown-devices)(\/|$))/.test(path)
    : path === place || path.startsWith(`${place}/`);

const shownOn: Record<Place['on'], string> = {
  both: 'flex-1 md:flex-none',
  desk: 'hidden md:block',
  phone: 'flex-1 md:hidden',
};

function Places({ path }: { path: string }) {
  const { t } = useTranslation();
  return (
    <nav
      aria-label={t('app.places')}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:inset-y-0 md:right-auto md:w-28 md:overflow-y-auto md:border-t-0 md:border-r md:pt-6"
    >
      <img src="/icon.svg" alt="" width="36" height="36" className="mx-auto mb-6 hidden rounded-lg md:block" />
      <ul className="flex justify-around md:flex-col md:gap-2 md:px-2">
        {places.map(({ path: at, name, icon: Icon, on }) => {
          const here =
            isHere(at, path) || (on === 'phone' && !places.some((one) => one.on === 'both' && isHere(one.path, path)));
          return (
            <li key={at} className={shownOn[on]}>
              <Link
                href={at}
                aria-current={here ? 'page' : undefined}
                className={classNames(
                  'flex min-h-16 flex-col items-center justify-center gap-1 text-small md:rounded-xl',
                  here ? 'font-strong text-accent' : 'text-ink-soft hover:text-ink',
                )}
              >
                <span className={classNames('rounded-full px-4 py-1', here && 'bg-accent-soft')}>
                  <Icon aria-hidden className="size-5" />
                </span>
                {t(`nav.${name}`)}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** The shape of most pages, shown while the page's own chunk is being fetched. */
function PageSkeleton() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('app.loading')} className="space-y-6">
      <Skeleton className="h-5 w-32" />
      <Skeleton className="h-14 w-3/4" />
      <Skeleton className="h-48 w-full rounded-2xl" />
    </div>
  );
}

function NotFound() {
  const { t } = useTranslation();
  return (
    <div className="mx-auto max-w-md py-16 text-center">
      <h1 className="text-title font-strong">{t('app.notFound.title')}</h1>
      <p className="mt-2 text-ink-soft">{t('app.notFound.help')}</p>
      <Link href="/" className="mt-4 inline-flex min-h-11 items-center font-strong text-accent underline">
        {t('app.notFound.home')}
      </Link>
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

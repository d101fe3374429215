import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Route, Router, Switch } from 'wouter';
import { isOutage, type Problem } from '../api/request.ts';
import { ServicesContext, useServices, useStore } from '../api/services.ts';
import { DeviceControlContext } from '../features/devices/device-control.ts';
import { formatClock } from '../i18n/format.ts';
import { useLocale } from '../i18n/i18n.ts';
import { problemWords } from '../i18n/words.ts';
import { Centered, ErrorBoundary } from '../ui/page.tsx';
import { UsedByContext } from '../ui/used-by.tsx';
import type { AppServices } from './services.ts';
import { SecurePage, UsedByAll } from './places.ts';
import { Above, Shell } from './shell.tsx';

export function App({ services }: { services: AppServices }) {
  return (
    <ErrorBoundary>
      <ServicesContext value={services}>
        <DeviceControlContext value={services.control}>
          <UsedByContext value={UsedByAll}>
            <QueryClientProvider client={services.queries}>
              <Router
                aroundNav={(navigate, to, options) => {
                  // A page of the previous release becomes the new one at the next navigation.
                  if (services.outdated.get()) location.assign(to);
                  else navigate(to, options);
                }}
              >
                <Switch>
                  <Route path="/secure">
                    <Suspense fallback={<Opening />}>
                      <SecurePage />
                    </Suspense>
                  </Route>
                  <Route>
                    <SessionGate>
                      <Above>
                        <Shell fetchAhead={services.fetchAhead} />
                      </Above>
                    </SessionGate>
                  </Route>
                </Switch>
              </Router>
            </QueryClientProvider>
          </UsedByContext>
        </DeviceControlContext>
      </ServicesContext>
    </ErrorBoundary>
  );
}

const SetupPage = lazy(async () => ({ default: (await import('./setup-place.tsx')).SetupPlace }));
const LoginPage = lazy(async () => ({ default: (await import('../features/session/login-page.tsx')).LoginPage }));

/** Shows the pages after log-in, and the log-in page before it. The address stays, so the person returns to the same page. */
function SessionGate({ children }: { children: ReactNode }) {
  const state = useStore(useServices().session.state);
  switch (state.kind) {
    case 'checking':
      return <Opening />;
    case 'unreachable':
      return <Unreachable problem={state.problem} since={state.since} />;
    case 'setup_needed':
      return (
        <Suspense fallback={<Opening />}>
          <SetupPage />
        </Suspense>
      );
    case 'signed_out':
      return (
        <Suspense fallback={<Opening />}>
          <LoginPage because={state.because} />
        </Suspense>
      );
    case 'signed_in':
      return children;
  }
}

/** Only no answer at all may mean that the station is restarting. */
function Unreachable({ problem, since }: { problem: Problem; since: number }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const time = formatClock(locale, since);
  if (problem.code === 'host_unknown') return <Elsewhere problem={problem} />;
  if (!isOutage(problem)) {
    return (
      <Centered tone="fault" title={t('session.refused')} help={problemWords(t, locale, problem)}>
        <p className="text-small text-ink-soft">
          {t('error.code')}: <code>{problem.status === null ? problem.code : `${problem.status} ${problem.code}`}</code>
        </p>
      </Centered>
    );
  }
  const help = `${t('session.unreachable.since', { time })} ${t('session.unreachable.help')}`;
  return <Centered tone="attention" title={t('session.unreachable.title')} help={help} />;
}

/** The page came from the station under a name that is none of its own. */
function Elsewhere({ problem }: { problem: Problem }) {
  const { t } = useTranslation();
  const help = t('session.elsewhere.help', { name: location.hostname });
  return (
    <Centered tone="attention" title={t('session.elsewhere.title')} help={help}>
      <ul className="space-y-2">
        {problem.addresses.map((address) => (
          <li key={address}>
            <a className="font-strong text-accent underline" href={address}>
              {address}
            </a>
          </li>
        ))}
      </ul>
    </Centered>
  );
}

/** Shows nothing for a short time, because loading is usually fast; then a text. */
function Opening() {
  const { t } = useTranslation();
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 700);
    return () => clearTimeout(timer);
  }, []);
  return (
    <main className="grid min-h-dvh place-items-center p-6" aria-busy>
      <p role="status" className="text-ink-soft">
        {slow && t('session.checking')}
      </p>
    </main>
  );
}

import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Route, Router, Switch } from 'wouter';
import { ServicesContext, useServices, useStore } from '../api/services.ts';
import { DeviceControlContext } from '../features/devices/device-control.ts';
import { formatClock } from '../i18n/format.ts';
import { useLocale } from '../i18n/i18n.ts';
import { Centered, ErrorBoundary } from '../ui/page.tsx';
import type { AppServices } from './services.ts';
import { SecurePage } from './places.ts';
import { Above, Shell } from './shell.tsx';

export function App({ services }: { services: AppServices }) {
  return (
    <ErrorBoundary>
      <ServicesContext value={services}>
        <DeviceControlContext value={services.control}>
          <QueryClientProvider client={services.queries}>
            <Router
              aroundNav={(navigate, to, options) => {
                // A page of the previous release becomes the new one at the next navigation.
                const go = (): void => (services.outdated.get() ? location.assign(to) : navigate(to, options));
                const ask = services.leaving.get();
                if (ask) ask(go);
                else go();
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
      return <Unreachable since={state.since} />;
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

function Unreachable({ since }: { since: number }) {
  const { t } = useTranslation();
  const time = formatClock(useLocale(), since);
  const help = `${t('session.unreachable.since', { time })} ${t('session.unreachable.help')}`;
  return <Centered tone="attention" title={t('session.unreachable.title')} help={help} />;
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

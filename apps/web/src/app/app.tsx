import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Router } from 'wouter';
import { ServicesContext, useServices, useStore } from '../api/services.ts';
import { DeviceControlContext } from '../features/devices/device-control.ts';
import { Centered, ErrorBoundary } from '../ui/page.tsx';
import type { AppServices } from './services.ts';
import { Shell } from './shell.tsx';

export function App({ services }: { services: AppServices }) {
  return (
    <ErrorBoundary>
      <ServicesContext value={services}>
        <DeviceControlContext value={services.control}>
          <QueryClientProvider client={services.queries}>
            <Router
              aroundNav={(navigate, to, options) => {
                // A page of the previous release becomes the new one at the next navigation.
                if (services.outdated.get()) location.assign(to);
                else navigate(to, options);
              }}
            >
              <SessionGate>
                <Shell fetchAhead={services.fetchAhead} />
              </SessionGate>
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
  const { t } = useTranslation();
  const state = useStore(useServices().session.state);
  switch (state.kind) {
    case 'checking':
      return <Opening />;
    case 'unreachable':
      return <Centered tone="attention" title={t('session.unreachable.title')} help={t('session.unreachable.help')} />;
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

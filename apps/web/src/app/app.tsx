import { QueryClientProvider } from '@tanstack/react-query';
import { Router } from 'wouter';
import type { Services } from './services.ts';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import { SessionGate } from './session-gate.tsx';
import { Shell } from './shell.tsx';
import { ServicesContext } from '../api/use-services.ts';

export function App({ services }: { services: Services }) {
  return (
    <ErrorBoundary>
      <ServicesContext value={services}>
        <QueryClientProvider client={services.queries}>
          <Router
            aroundNav={(navigate, to, options) => {
              // A page of the release before takes the next step as its chance to become the new one.
              if (services.outdated.get()) location.assign(to);
              else navigate(to, options);
            }}
          >
            <SessionGate>
              <Shell />
            </SessionGate>
          </Router>
        </QueryClientProvider>
      </ServicesContext>
    </ErrorBoundary>
  );
}

import { QueryClientProvider } from '@tanstack/react-query';
import { Router } from 'wouter';
import { ServicesContext } from '../api/services.ts';
import { DeviceControlContext } from '../features/devices/device-control.ts';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import type { AppServices } from './services.ts';
import { SessionGate } from './session-gate.tsx';
import { Shell } from './shell.tsx';

export function App({ services }: { services: AppServices }) {
  return (
    <ErrorBoundary>
      <ServicesContext value={services}>
        <DeviceControlContext value={services.control}>
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
        </DeviceControlContext>
      </ServicesContext>
    </ErrorBoundary>
  );
}

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { leadOver } from '../api/encryption.ts';
import { createI18n } from '../i18n/i18n.ts';
import { TranslationProvider } from '../i18n/translation.ts';
import { App } from './app.tsx';
import type { Early } from './early.ts';
import { createServices, startServices } from './services.ts';

/** Shows the page. */
export async function showApp(early: Early): Promise<void> {
  const services = createServices(early);
  startServices(services);
  if (location.pathname !== '/secure') void leadOver(window, (...request) => fetch(...request));
  const translation = await createI18n(services.memory, navigator.languages);
  // The script does not wait for the end of the document.
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  const root = document.getElementById('root');
  if (!root) throw new Error('index.html has no #root');
  createRoot(root).render(
    <StrictMode>
      <TranslationProvider translation={translation}>
        <App services={services} />
      </TranslationProvider>
    </StrictMode>,
  );
}

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { I18nextProvider } from 'react-i18next';
import { App } from './app/app.tsx';
import { createServices, startServices } from './app/services.ts';
import { createI18n } from './i18n/i18n.ts';
import './styles.css';

const services = createServices();
startServices(services);

const i18n = await createI18n(services.memory, navigator.languages);
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <I18nextProvider i18n={i18n}>
      <App services={services} />
    </I18nextProvider>
  </StrictMode>,
);

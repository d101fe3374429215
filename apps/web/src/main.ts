import { startEarly } from './app/early.ts';
import './styles.css';

// Small, so that the station is asked while the rest is still on its way; the page names both files (vite.config.ts).
const early = startEarly();
// Not awaited: what is imported needs this file, and would wait for it in turn.
void import('./app/show-app.tsx').then(({ showApp }) => showApp(early));

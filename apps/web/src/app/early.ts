import { createMemory, type Memory } from '../api/memory.ts';
import { type ReadAheadSession, withReadAhead } from '../api/read-ahead.ts';
import { createRefreshTurns } from '../api/refresh-turns.ts';
import { createSend } from '../api/request.ts';
import { createSessionService } from '../api/session.ts';
import { createStationClock, type StationClock } from '../api/station-clock.ts';
import { loadTexts, preferredLanguage } from '../i18n/languages.ts';
import { startTheme } from '../ui/theme.ts';

/** The services that work before the rest of the page is there. */
export type Early = { clock: StationClock; memory: Memory; session: ReadAheadSession };

/** Asks who is logged in, reads what home shows, and fetches the texts: all of it while the code of the page is loading. */
export function startEarly(): Early {
  const clock = createStationClock(() => Date.now());
  const memory = createMemory(() => localStorage);
  startTheme(memory);
  const session = createSessionService({
    send: createSend((...request) => fetch(...request), clock.observeHeader),
    turns: createRefreshTurns(memory),
    clock,
    memory,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  const early = { clock, memory, session: withReadAhead(session, () => location.pathname === '/') };
  void session.start();
  // Loaded again later; then it is there already, or the failure is told.
  loadTexts(preferredLanguage(memory.get('language'), navigator.languages), 'first').catch(() => undefined);
  return early;
}

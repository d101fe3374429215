import type { LiveService } from '../api/live.ts';
import { createStore, type Store } from '../api/store.ts';

/**
 * Whether the files of this page are still the ones the station serves. After an update there may be a newer page; it is asked
 * for each time the socket connects again and when an update has ended, since the web app is replaced beside the backend.
 */
export function watchPageAge(live: LiveService, fetchPage: () => Promise<string>): Store<boolean> {
  const outdated = createStore(false);
  const own = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src') ?? null;
  // A page that a service worker opened may be a kept one.
  let wasConnected = 'serviceWorker' in navigator && navigator.serviceWorker.controller !== null;
  const look = async (): Promise<void> => {
    if (own === null) return;
    try {
      const page = await fetchPage();
      // Any other content, such as a proxy's error page, is ignored.
      if (page.includes('id="root"')) outdated.set(!page.includes(own));
    } catch {
      // The station is offline; the next handshake checks again.
    }
  };
  live.onMessage((message) => {
    const ended =
      message.type === 'agent_event' && ['update_completed', 'rollback_completed'].includes(message.event.event);
    if (ended || (message.type === 'hello' && wasConnected)) void look();
    if (message.type === 'hello') wasConnected = true;
  });
  return outdated;
}

const stampKey = 'station.reloaded-at';
const notWithinMs = 30_000;

/**
 * After an update the files of the previous page are gone: a part of the page that was not fetched yet is then missing, and
 * loading the page again brings the new one. Once only, so that a real fault does not reload the page for ever.
 * @returns fetches parts before they are opened. One that fails reloads nothing: a person is at work, and opening it tries again.
 */
export function reloadOnMissingChunk(): (loads: readonly (() => Promise<unknown>)[]) => Promise<void> {
  let fetchesAhead = 0;
  addEventListener('vite:preloadError', () => {
    if (fetchesAhead === 0) void reloadOnce();
  });
  return async (loads) => {
    fetchesAhead += 1;
    await Promise.allSettled(loads.map((load) => load()));
    fetchesAhead -= 1;
  };
}

async function reloadOnce(): Promise<void> {
  // Do not reload while the station is offline: the browser's error page would replace this page, which recovers automatically.
  const isThere = await fetch('/', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isThere) return;
  try {
    if (Date.now() - Number(sessionStorage.getItem(stampKey) ?? 0) < notWithinMs) return;
    sessionStorage.setItem(stampKey, String(Date.now()));
  } catch {
    // Without storage it is unknown whether it was tried before: show the error view.
    return;
  }
  location.reload();
}

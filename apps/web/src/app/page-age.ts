import type { LiveService } from '../api/live.ts';
import { createStore, type Store } from '../api/store.ts';

/**
 * Whether the files of this page are still the ones the station serves. After an update there may be a newer page; it is asked
 * for each time the station greets again and when an update has ended, since the web app is replaced beside the backend.
 */
export function watchPageAge(live: LiveService, fetchPage: () => Promise<string>): Store<boolean> {
  const outdated = createStore(false);
  const own = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src') ?? null;
  let greeted = false;
  const look = async (): Promise<void> => {
    if (own === null) return;
    try {
      const page = await fetchPage();
      // Something else than the page, say a proxy's apology, tells nothing.
      if (page.includes('id="root"')) outdated.set(!page.includes(own));
    } catch {
      // The station is away; the next greeting asks again.
    }
  };
  live.onMessage((message) => {
    const ended =
      message.type === 'agent_event' && ['update_completed', 'rollback_completed'].includes(message.event.event);
    if (ended || (message.type === 'hello' && greeted)) void look();
    if (message.type === 'hello') greeted = true;
  });
  return outdated;
}

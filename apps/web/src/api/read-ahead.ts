import type { RouteKey } from '@station/protocol/routes';
import type { SessionService } from './session.ts';

/** What home waits for, the largest first. None of them needs parameters. */
export const homeReads = [
  'GET /api/devices',
  'GET /api/device-types',
  'GET /api/system/status',
  'GET /api/zones',
  'GET /api/favourites',
  'GET /api/scenes',
  'GET /api/station',
] as const satisfies readonly RouteKey[];

/** An answer that nobody asked for within this time is not used any more. */
const keepMs = 10_000;

/**
 * The session, which reads these routes as soon as somebody is logged in: the code that shows them may still be loading. Each answer is
 * used once, by the first call of the same route; after a failure the call asks itself.
 */
export function withReadAhead(session: SessionService, routes: readonly (typeof homeReads)[number][]): SessionService {
  const answers = new Map<RouteKey, Promise<unknown>>();
  let isDone = false;
  session.state.subscribe(() => {
    answers.clear();
    if (isDone || session.state.get().kind !== 'signed_in') return;
    isDone = true;
    for (const route of routes) {
      const answer = session.call(route);
      answers.set(route, answer);
      answer.catch(() => answers.delete(route));
    }
    setTimeout(() => answers.clear(), keepMs);
  });
  return {
    ...session,
    call: (route, ...options) => {
      const answer = answers.get(route);
      answers.delete(route);
      return (answer ?? session.call(route, ...options)) as never;
    },
  };
}

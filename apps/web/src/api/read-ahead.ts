import type { Method } from './request.ts';
import type { SessionService } from './session.ts';

/** An answer that nobody asked for within this time is not used any more. */
const keepMs = 10_000;

/**
 * The session, which reads these paths as soon as somebody is logged in: the code that shows them may still be loading. Each answer is
 * used once, by the first call with the same path; after a failure the call asks itself.
 */
export function withReadAhead(session: SessionService, paths: readonly string[]): SessionService {
  const answers = new Map<string, Promise<unknown>>();
  let isDone = false;
  session.state.subscribe(() => {
    answers.clear();
    if (isDone || session.state.get().kind !== 'signed_in') return;
    isDone = true;
    for (const path of paths) {
      const answer = session.call('GET', path);
      answers.set(path, answer);
      answer.catch(() => answers.delete(path));
    }
    setTimeout(() => answers.clear(), keepMs);
  });
  return {
    ...session,
    call: <T>(method: Method, path: string, options?: Parameters<SessionService['call']>[2]) => {
      const answer = method === 'GET' ? answers.get(path) : undefined;
      answers.delete(path);
      return (answer as Promise<T> | undefined) ?? session.call<T>(method, path, options);
    },
  };
}

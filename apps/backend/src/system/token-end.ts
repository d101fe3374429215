import type { Clock } from '@station/kit/clock';
import type { AccessClaims, AccessTokens } from '../core/access-tokens.ts';

/** The signal aborts when the token expires or is revoked, at once when it was already; until disposed. */
export function untilTokenEnds(
  tokens: Pick<AccessTokens, 'holds' | 'onRevoke'>,
  claims: AccessClaims,
  clock: Clock,
): { signal: AbortSignal } & Disposable {
  const ending = new AbortController();
  const end = (): void => {
    stop();
    ending.abort(new Error('The access token has ended'));
  };
  const timer = setTimeout(end, Math.max(0, claims.expiresAt - clock.now()));
  const listening = tokens.onRevoke((userId) => {
    if (userId === claims.userId) end();
  });
  function stop(): void {
    clearTimeout(timer);
    listening[Symbol.dispose]();
  }
  if (!tokens.holds(claims)) end();
  return { signal: ending.signal, [Symbol.dispose]: stop };
}

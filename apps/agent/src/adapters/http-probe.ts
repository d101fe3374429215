import type { ProbeAnswer } from '../stack/ports.ts';

/** Below this a held request of a proxy still counts: it waits while the backend starts. */
const timeoutMs = 5000;

/** One request to the health check address: 2xx is a pass. Never throws, but for the caller's abort. */
export function createHttpProbe(url: URL): (signal: AbortSignal) => Promise<ProbeAnswer> {
  return async (signal) => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const response = await fetch(url, { signal: bounded, headers: { accept: 'application/json' } });
      await response.body?.cancel();
      const { ok, status } = response;
      return { ok, status, reason: ok ? null : `the health check answered ${status}` };
    } catch {
      signal.throwIfAborted();
      return { ok: false, status: null, reason: 'the health check did not answer' };
    }
  };
}

import type { ProbeAnswer } from '../stack-ports.ts';
import { followRedirects, type HttpResponse, readBody } from '../../core/adapters/http-request.ts';

/** Long enough for a proxy that holds the request while the backend starts. */
const timeoutMs = 5000;

const maxHealthBytes = 4 * 1024;
/** Words of the backend, such as "disk full"; nothing else gets into logs and answers. */
const reasonWords = /^[a-z/ -]{1,40}$/;

/** Which checks fail and why, as `BackendHealth` says it: " (database: disk full)"; empty when the answer does not. */
async function reasonsOf(response: HttpResponse): Promise<string> {
  const bytes = await readBody(response, maxHealthBytes);
  const body = JSON.parse(new TextDecoder().decode(bytes ?? new Uint8Array())) as { reasons?: object } | null;
  const reasons = Object.entries(body?.reasons ?? {}).filter(
    (entry): entry is [string, string] => reasonWords.test(entry[0]) && reasonWords.test(String(entry[1])),
  );
  return reasons.length === 0 ? '' : ` (${reasons.map(([check, why]) => `${check}: ${why}`).join(', ')})`;
}

/** One request to the health check address: 2xx passes. Throws only when the caller aborts. */
export function createHttpProbe(url: URL): (signal: AbortSignal) => Promise<ProbeAnswer> {
  return async (signal) => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const followed = await followRedirects(url, { signal: bounded, headers: { accept: 'application/json' } });
      if (followed.kind === 'rejected') return { ok: false, status: null, reason: followed.reason };
      const { status, body } = followed.response;
      const ok = status >= 200 && status < 300;
      const why = ok ? '' : await reasonsOf(followed.response).catch(() => '');
      body.destroy();
      return { ok, status, reason: ok ? null : `the health check answered ${status}${why}` };
    } catch {
      signal.throwIfAborted();
      return { ok: false, status: null, reason: 'the health check did not answer' };
    }
  };
}

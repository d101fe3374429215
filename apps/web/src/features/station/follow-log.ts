import type { LogLine } from '@station/protocol/agent-machine';
import { pathOf } from '../../api/request.ts';
import type { SessionService } from '../../api/session.ts';
import { createLineReader } from './log-view.ts';

const retryMs = 2000;
/** The agent sends something every 15 s. A connection that is silent for longer leads nowhere. */
const silentMs = 35_000;

type Following = {
  session: Pick<SessionService, 'token' | 'tokenRefused'>;
  /** The time of the last line, for a stream that goes on; null: the last lines. */
  since: () => string | null;
  onLines: (lines: LogLine[]) => void;
  onLive: (isLive: boolean) => void;
  signal: AbortSignal;
};

/** Follows the logs until the signal aborts. A stream ends with its access token, so it is opened again and again. */
export async function followLog({ session, since, onLines, onLive, signal }: Following): Promise<void> {
  while (!signal.aborted) {
    const silence = createSilence();
    try {
      const token = await session.token();
      const from = since();
      const path = pathOf('GET /api/system/logs', { query: from === null ? {} : { since: from } });
      const response = await fetch(path, {
        headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
        cache: 'no-store',
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (response.status === 401) session.tokenRefused(token);
      if (response.ok && response.body) {
        onLive(true);
        await readLines(response.body, (lines) => lines.length > 0 && onLines(lines), silence.heard);
      }
    } catch {
      // The station is away, or the stream has ended: it is tried again below.
    }
    silence.end();
    onLive(false);
    await pause(retryMs, signal);
  }
}

/** Aborts when nothing was heard for too long. */
function createSilence(): { signal: AbortSignal; heard: () => void; end: () => void } {
  const ending = new AbortController();
  let timer = setTimeout(() => ending.abort(), silentMs);
  const end = (): void => clearTimeout(timer);
  const heard = (): void => {
    end();
    timer = setTimeout(() => ending.abort(), silentMs);
  };
  return { signal: ending.signal, heard, end };
}

async function readLines(
  body: ReadableStream<Uint8Array>,
  onLines: (lines: LogLine[]) => void,
  onHeard: () => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  const linesOf = createLineReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onHeard();
    onLines(linesOf(value));
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });

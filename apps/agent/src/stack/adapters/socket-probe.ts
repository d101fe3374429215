import { WebSocket } from 'ws';

/** Shorter than the backend's wait for a log-in, which ends a link in which nothing is read. */
const answerMs = 4000;
const maxBytes = 64 * 1024;

/**
 * Whether a WebSocket server answers: it accepts the link, reads a log-in with a token that nobody has, and sends something or ends
 * the link.
 * @throws the reason of the signal.
 */
export async function probeSocket(address: URL, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  const url = new URL(address);
  url.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, { handshakeTimeout: answerMs, maxPayload: maxBytes, perMessageDeflate: false });
  const answered = Promise.withResolvers<boolean>();
  const onAbort = (): void => answered.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  let isOpen = false;
  let timer: NodeJS.Timeout | undefined;
  socket.once('open', () => {
    isOpen = true;
    timer = setTimeout(() => answered.resolve(false), answerMs);
    socket.send(JSON.stringify({ type: 'auth', token: 'health-check' }));
  });
  socket.once('message', () => answered.resolve(true));
  // 1006: the link broke off without a word.
  socket.once('close', (code) => answered.resolve(isOpen && code !== 1006));
  socket.on('error', () => answered.resolve(false));
  try {
    return await answered.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    socket.terminate();
  }
}

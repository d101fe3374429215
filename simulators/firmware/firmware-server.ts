import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createThrottle, type Throttle } from '../releases/throttle.ts';
import { checksumOfFile } from './image-builder.ts';

/** Faults of the server or the network, for one file or the manifest. */
export type Fault =
  /** Cuts the connection after `afterBytes` of the answer. */
  | { kind: 'cut'; afterBytes: number }
  /** Stops sending after `afterBytes` and keeps the connection open. */
  | { kind: 'stall'; afterBytes: number }
  /** Sends the right number of bytes, some of them wrong. */
  | { kind: 'wrong_bytes' }
  /** Ignores ranges and always sends the whole file. */
  | { kind: 'no_ranges' }
  /** Answers a range with another part. */
  | { kind: 'wrong_range' }
  /** Each answer has another ETag. */
  | { kind: 'new_etag' }
  /** No ETag at all. */
  | { kind: 'no_etag' }
  /** Sends without Content-Length and without end. */
  | { kind: 'endless' }
  | { kind: 'status'; status: number }
  | { kind: 'redirect'; location: string };

type Offered = {
  version: string;
  file: string;
  checksum: string;
  size?: number;
  chip?: string;
  minVersion?: string;
};

type SeenRequest = {
  path: string;
  range: string | null;
  ifRange: string | null;
  status: number;
  /** Number of bytes of the body that were sent. */
  sentBytes: number;
};

/** A small firmware server on loopback, with faults on demand. */
export type FirmwareServer = AsyncDisposable & {
  /** FIRMWARE_MANIFEST_URL of a station. */
  manifestUrl: string;
  origin: string;
  /** Publishes an image under a name; the manifest offers it instead of the earlier one. */
  offer(name: string, version: string, image: Uint8Array, more?: { chip?: string; minVersion?: string }): Offered;
  /** Changes or removes the entry of a name in the manifest. The file stays. */
  edit(name: string, change: Partial<Offered> | null): void;
  /** Serves exactly these bytes as the manifest until the next `offer` or `edit`. */
  setManifest(manifest: object | Uint8Array): void;
  /** Puts a file beside the manifest. */
  put(file: string, bytes: Uint8Array): void;
  /** @param file name of a file beside the manifest, or `manifest.json`. */
  setFault(file: string, fault: Fault | null, times?: number): void;
  /** Bytes per second of all downloads together, from their next piece on. */
  setSpeed: Throttle['setSpeed'];
  /** Every request so far, oldest first. */
  requests: SeenRequest[];
  /** Stops listening and cuts open connections; `goOnline` listens on the same port again. */
  goOffline(): Promise<void>;
  goOnline(): Promise<void>;
};

export type FirmwareServerOptions = {
  /** Default: 0, a free port. */
  port?: number;
  /** The form of the manifest: a map by name, or a list of types. */
  form?: 'map' | 'list';
  /** Limit for all downloads together; default: none. */
  bytesPerSecond?: number;
};

type State = {
  files: Map<string, Uint8Array>;
  faults: Map<string, { fault: Fault; left: number }>;
  requests: SeenRequest[];
  line: Throttle;
  answers: number;
};

const folder = '/firmware/';

export async function startFirmwareServer(options: FirmwareServerOptions = {}): Promise<FirmwareServer> {
  const state: State = {
    files: new Map(),
    faults: new Map(),
    requests: [],
    line: createThrottle(options.bytesPerSecond ?? Infinity),
    answers: 0,
  };
  const offers = new Map<string, Offered>();
  const publish = (manifest: object | Uint8Array): void => {
    const bytes = manifest instanceof Uint8Array ? manifest : Buffer.from(JSON.stringify(manifest));
    state.files.set('manifest.json', bytes);
  };
  const publishOffers = (): void => {
    const list = [...offers].map(([type, offered]) => ({ type, ...offered }));
    publish(options.form === 'list' ? { types: list } : Object.fromEntries(offers));
  };
  const listening = createListening(options.port ?? 0, (request, response) => answer(request, response, state));
  await listening.goOnline();
  publishOffers();
  const origin = `http://127.0.0.1:${listening.port()}`;
  return {
    origin,
    manifestUrl: `${origin}${folder}manifest.json`,
    setSpeed: state.line.setSpeed,
    requests: state.requests,
    goOffline: listening.goOffline,
    goOnline: listening.goOnline,
    [Symbol.asyncDispose]: listening.goOffline,
    offer: (name, version, image, more = {}) => {
      const file = `${name}-${version}.bin`;
      const offered = { version, file, checksum: checksumOfFile(image), size: image.length, ...more };
      state.files.set(file, image);
      offers.set(name, offered);
      publishOffers();
      return offered;
    },
    edit: (name, change) => {
      const offered = offers.get(name);
      if (change === null || !offered) offers.delete(name);
      else offers.set(name, { ...offered, ...change });
      publishOffers();
    },
    setManifest: publish,
    put: (file, bytes) => void state.files.set(file, bytes),
    setFault: (file, fault, times = Infinity) => {
      if (fault) state.faults.set(file, { fault, left: times });
      else state.faults.delete(file);
    },
  };
}

function createListening(
  wantedPort: number,
  listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
) {
  let port = wantedPort;
  let server: ReturnType<typeof createServer> | null = null;
  return {
    port: () => port,
    goOnline: async () => {
      if (server) return;
      server = createServer((request, response) => void listener(request, response).catch(() => response.destroy()));
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      port = (server.address() as AddressInfo).port;
    },
    goOffline: async () => {
      if (!server) return;
      const closing = server;
      server = null;
      closing.close();
      closing.closeAllConnections();
      await once(closing, 'close');
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  request.resume();
  const path = decodeURIComponent(new URL(request.url ?? '/', 'http://server').pathname);
  const file = path.startsWith(folder) ? path.slice(folder.length) : '';
  const fault = takeFault(state, file);
  const seen: SeenRequest = {
    path,
    range: request.headers.range ?? null,
    ifRange: (request.headers['if-range'] as string | undefined) ?? null,
    status: 0,
    sentBytes: 0,
  };
  state.requests.push(seen);
  const head = (status: number, headers: Record<string, string | number>): ServerResponse => {
    seen.status = status;
    return response.writeHead(status, headers);
  };
  if (fault?.kind === 'status') {
    head(fault.status, {}).end('a fault on demand\n');
    return;
  }
  if (fault?.kind === 'redirect') {
    head(302, { location: fault.location }).end();
    return;
  }
  const bytes = state.files.get(file);
  if (!bytes) {
    head(404, {}).end('not found\n');
    return;
  }

  const etag = etagOf(bytes, fault, state);
  const tagged: Record<string, string> = etag === null ? {} : { etag };
  if (etag !== null && request.headers['if-none-match'] === etag) {
    head(304, tagged).end();
    return;
  }
  const part = partOf(bytes, request, etag, fault);
  if (part === 'beyond') {
    head(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  const content = fault?.kind === 'wrong_bytes' ? damaged(bytes) : bytes;
  const [first, last] = part ?? [0, bytes.length - 1];
  const isEndless = fault?.kind === 'endless';
  head(part ? 206 : 200, {
    ...tagged,
    'accept-ranges': fault?.kind === 'no_ranges' ? 'none' : 'bytes',
    ...(part ? { 'content-range': `bytes ${first}-${last}/${bytes.length}` } : {}),
    ...(isEndless ? {} : { 'content-length': last - first + 1 }),
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  await send(response, content.subarray(first, last + 1), { fault, seen, line: state.line });
}

async function send(
  response: ServerResponse,
  bytes: Uint8Array,
  { fault, seen, line }: { fault: Fault | null; seen: SeenRequest; line: Throttle },
): Promise<void> {
  const limit = fault?.kind === 'cut' || fault?.kind === 'stall' ? fault.afterBytes : Infinity;
  do {
    for await (const piece of line.send(bytes.subarray(0, Math.min(bytes.length, limit)))) {
      if (response.destroyed) return;
      seen.sentBytes += piece.length;
      if (!response.write(piece)) await drained(response);
    }
  } while (fault?.kind === 'endless');
  if (fault?.kind === 'stall') return;
  if (fault?.kind !== 'cut') {
    response.end();
    return;
  }
  // The client gets the bytes written so far. A regular end would look like the end of the file.
  await new Promise((resolve) => response.write('', resolve));
  response.socket?.destroy();
}

/** Waits until the client has received the bytes or has disconnected. */
async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    settled.abort();
  }
}

function takeFault(state: State, file: string): Fault | null {
  const entry = state.faults.get(file);
  if (!entry || entry.left <= 0) return null;
  entry.left -= 1;
  return entry.fault;
}

function etagOf(bytes: Uint8Array, fault: Fault | null, state: State): string | null {
  if (fault?.kind === 'no_etag') return null;
  const salt = fault?.kind === 'new_etag' ? `${(state.answers += 1)}` : '';
  return `"${createHash('sha256').update(bytes).update(salt).digest('hex').slice(0, 32)}"`;
}

/** First and last byte to send; null: the whole file. */
function partOf(
  bytes: Uint8Array,
  request: IncomingMessage,
  etag: string | null,
  fault: Fault | null,
): [number, number] | null | 'beyond' {
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const condition = request.headers['if-range'];
  if (!match || fault?.kind === 'no_ranges' || (condition !== undefined && condition !== etag)) return null;
  const first = Number(match[1]);
  if (first >= bytes.length) return 'beyond';
  if (fault?.kind === 'wrong_range') return [Math.floor(first / 2), bytes.length - 1];
  return [first, match[2] === '' ? bytes.length - 1 : Math.min(Number(match[2]), bytes.length - 1)];
}

function damaged(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  for (let at = Math.floor(copy.length / 2); at < copy.length; at += 4096) copy[at] = ~(copy[at] ?? 0);
  return copy;
}

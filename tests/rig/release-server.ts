import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Workspace } from './workspace.ts';

type ServedFile = {
  bytes: Uint8Array;
  /** Default 200; a GET with a matching If-None-Match gets 304 instead. */
  status?: number;
  /** Added to `ETag` and `Content-Type`. `location` with a status of 3xx redirects. */
  headers?: Record<string, string>;
};

type SeenRequest = { method: string; path: string; headers: IncomingMessage['headers']; answered: number };

export type ReleaseServer = AsyncDisposable & {
  origin: string;
  /** Address of the release manifest (UPDATE_SERVER_URL). */
  manifestUrl: string;
  /** Publishes a manifest at {@link manifestUrl}: an object as JSON, or exact bytes. */
  setManifest(manifest: object | Uint8Array): void;
  /** Puts a file at a path (`/releases/manifest.json.minisig`, `/firmware/…`); null removes it. */
  put(path: string, file: ServedFile | null): void;
  /** Delay before each answer, in milliseconds. */
  setLatency(milliseconds: number): void;
  /** Stops listening and cuts open connections: connection refused. */
  goOffline(): Promise<void>;
  /** Listens again on the same port. */
  goOnline(): Promise<void>;
  /** Every request so far, oldest first. */
  requests: SeenRequest[];
};

/** Path of the release manifest at every release server of the rig. */
export const manifestPath = '/releases/manifest.json';

/**
 * Starts an HTTP server (HTTPS with `tls`, PEM files) for manifests and files, with ETag and conditional requests. Byte ranges are
 * not served.
 */
export async function createReleaseServer(
  workspace: Workspace,
  options: { tls?: { keyFile: string; certificateFile: string } } = {},
): Promise<ReleaseServer> {
  const files = new Map<string, ServedFile>();
  const requests: SeenRequest[] = [];
  let latency = 0;
  const tls = options.tls && {
    key: await readFile(options.tls.keyFile),
    cert: await readFile(options.tls.certificateFile),
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    request.resume();
    await sleep(latency);
    const answered = send(request, response, files.get(path));
    requests.push({ method: request.method ?? '', path, headers: request.headers, answered });
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
  let server: Server | undefined;
  let port = 0;
  const goOnline = async (): Promise<void> => {
    if (server !== undefined) return;
    server = tls ? createTlsServer(tls, listener) : createServer(listener);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const goOffline = async (): Promise<void> => {
    if (server === undefined) return;
    const closing = server;
    server = undefined;
    closing.close();
    closing.closeAllConnections();
    await once(closing, 'close');
  };
  await goOnline();
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  return workspace.own({
    origin,
    manifestUrl: `${origin}${manifestPath}`,
    setManifest: (manifest: object | Uint8Array) => {
      const bytes = manifest instanceof Uint8Array ? manifest : Buffer.from(JSON.stringify(manifest));
      files.set(manifestPath, { bytes, headers: { 'content-type': 'application/json' } });
    },
    put: (path: string, file: ServedFile | null) => void (file ? files.set(path, file) : files.delete(path)),
    setLatency: (milliseconds: number) => void (latency = milliseconds),
    goOffline,
    goOnline,
    requests,
    [Symbol.asyncDispose]: goOffline,
  });
}

function send(request: IncomingMessage, response: ServerResponse, file: ServedFile | undefined): number {
  const { bytes, status = 200, headers = {} } = file ?? { bytes: Buffer.from('not found\n'), status: 404 };
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
  const unchanged = status === 200 && request.headers['if-none-match'] === etag;
  const code = unchanged ? 304 : status;
  response.writeHead(code, status === 200 ? { etag, ...headers } : headers);
  response.end(unchanged || request.method === 'HEAD' ? undefined : bytes);
  return code;
}

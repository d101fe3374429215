import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import type { Workspace } from '../rig/workspace.ts';

export type FileServer = AsyncDisposable & {
  /** `http://address:port` */
  origin: string;
  /** First part of the path → folder on the host. May change while it runs. */
  folders: Map<string, string>;
  /** Paths in the order they were asked for, with the status of the answer. */
  requests: { path: string; status: number }[];
};

/** Serves folders as static files, with ranges and conditional requests, as any web host does. */
export async function createFileServer(
  workspace: Workspace,
  address: string,
  folders: Readonly<Record<string, string>>,
): Promise<FileServer> {
  const served = new Map(Object.entries(folders));
  const requests: FileServer['requests'] = [];
  const server = createServer((request, response) => {
    answer(served, request, response).then(
      () => requests.push({ path: request.url ?? '', status: response.statusCode }),
      () => response.destroy(),
    );
  });
  server.listen(0, address);
  await once(server, 'listening');
  return workspace.own({
    origin: `http://${address}:${(server.address() as AddressInfo).port}`,
    folders: served,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
}

async function answer(
  folders: ReadonlyMap<string, string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, first = '', ...rest] = normalize(
    decodeURIComponent(new URL(request.url ?? '/', 'http://host').pathname),
  ).split('/');
  const folder = folders.get(first);
  const path = folder === undefined ? null : join(folder, ...rest);
  const facts = path === null ? null : await stat(path).catch(() => null);
  if (path === null || !facts?.isFile()) {
    response.writeHead(404).end('not found\n');
    return;
  }
  const etag = `"${facts.size}-${facts.mtimeMs}"`;
  const headers = { etag, 'accept-ranges': 'bytes', 'last-modified': facts.mtime.toUTCString() };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (start > 0 && start >= facts.size) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${facts.size}` }).end();
    return;
  }
  const part = start > 0 ? { 'content-range': `bytes ${start}-${facts.size - 1}/${facts.size}` } : {};
  response.writeHead(start > 0 ? 206 : 200, { ...headers, ...part, 'content-length': facts.size - start });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  // A client that goes away ends the answer.
  createReadStream(path, { start })
    .on('error', () => response.destroy())
    .pipe(response);
}

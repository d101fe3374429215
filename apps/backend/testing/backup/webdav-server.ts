import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export type WebdavServer = AsyncDisposable & { url: string; /** Content by path. */ files: Map<string, Buffer> };

/**
 * The part of RFC 4918 that a folder of files needs, with Basic authentication (RFC 7617).
 * @param sizes where it says how large a file is.
 */
export async function startWebdavServer(
  login: { username: string; password: string },
  sizes: 'listing' | 'head' | 'nowhere' = 'listing',
): Promise<WebdavServer> {
  const files = new Map<string, Buffer>();
  const folders = new Set<string>();
  const expected = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const end = (status: number, content?: string | Buffer) => void response.writeHead(status).end(content);
    if (request.headers.authorization !== expected) {
      response.setHeader('www-authenticate', 'Basic realm="files"');
      // As the page of a real server for people.
      return end(401, '<!DOCTYPE html><title>Unauthorized</title>');
    }
    const path = pathOf(request.url ?? '/');
    switch (request.method ?? '') {
      case 'MKCOL':
        folders.add(path);
        return end(201);
      case 'PUT':
        if (!folders.has(path.slice(0, path.lastIndexOf('/')))) return end(409);
        files.set(path, body);
        return end(201, createdPage);
      case 'MOVE': {
        const content = files.get(path);
        if (content === undefined) return end(404);
        files.delete(path);
        files.set(pathOf(new URL(String(request.headers['destination']), 'http://x').pathname), content);
        return end(201, createdPage);
      }
      case 'GET': {
        const content = files.get(path);
        return content === undefined ? end(404) : end(200, content);
      }
      case 'HEAD': {
        const content = files.get(path);
        if (content !== undefined && sizes !== 'nowhere') response.setHeader('content-length', content.length);
        return end(content === undefined ? 404 : 200);
      }
      case 'DELETE':
        return end(files.delete(path) ? 204 : 404);
      case 'PROPFIND':
        if (!files.has(path) && !folders.has(path)) return end(404);
        response.setHeader('content-type', 'application/xml');
        return end(207, listing(path, files, { onlySelf: request.headers['depth'] === '0', sizes }));
      default:
        return end(405);
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let isOpen = true;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dav`,
    files,
    [Symbol.asyncDispose]: async () => {
      if (!isOpen) return;
      isOpen = false;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** As Apache answers. */
const createdPage = '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN"><html><title>201 Created</title></html>';

const pathOf = (url: string): string => decodeURI(url.split('?')[0] ?? '').replace(/\/+$/, '');

function listing(
  path: string,
  files: ReadonlyMap<string, Buffer>,
  { onlySelf, sizes }: { onlySelf: boolean; sizes: string },
): string {
  const entry = (href: string, size: number | null): string =>
    `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${
      size === null
        ? '<d:resourcetype><d:collection/></d:resourcetype>'
        : `<d:resourcetype/>${sizes === 'listing' ? `<d:getcontentlength>${size}</d:getcontentlength>` : ''}`
    }</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
  const own = files.get(path);
  const children = onlySelf ? [] : [...files].filter(([name]) => name.startsWith(`${path}/`));
  const entries = [
    own === undefined ? entry(`${path}/`, null) : entry(path, own.length),
    ...children.map(([name, content]) => entry(name, content.length)),
  ];
  return `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${entries.join('')}</d:multistatus>`;
}

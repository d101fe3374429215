import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server does instead of what it should. */
export type Hostility =
  /** It is an empty WebDAV server. */
  | 'none'
  | 'endless listing'
  | 'silent listing'
  | 'entities'
  | 'deep listing'
  | 'many files'
  | 'odd names'
  | 'redirect'
  | 'silent upload'
  | 'endless file'
  | 'silent file';

export type HostileWebdav = AsyncDisposable & {
  url: string;
  do(what: Hostility): void;
  /** Requests that it got: method and path. */
  requests: string[];
};

const listed = 'station-x-20260101T000000Z.age';

const entry = (href: string, size: number | null): string =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop><d:resourcetype>${
    size === null ? '<d:collection/>' : ''
  }</d:resourcetype><d:getcontentlength>${size ?? 0}</d:getcontentlength></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
const start = '<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">';
const end = '</d:multistatus>';

/** @param elsewhere where it redirects to. */
export async function startHostileWebdav({ elsewhere = '' } = {}): Promise<HostileWebdav> {
  let what: Hostility = 'none';
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.on('error', () => undefined);
    answer(what, request, response, elsewhere);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    do: (next) => {
      what = next;
    },
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(what: Hostility, request: IncomingMessage, response: ServerResponse, elsewhere: string): void {
  request.resume();
  const path = decodeURI(request.url ?? '/');
  const reply = (status: number, body = ''): void =>
    void response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  if (what === 'redirect') {
    response.writeHead(307, { location: `${elsewhere}${request.url}` }).end();
    return;
  }
  if (request.method === 'PROPFIND') return propfind(what, path, request.headers['depth'] === '1', response, reply);
  if (request.method === 'GET' && what === 'endless file') return flood(response, Buffer.alloc(256 * 1024, 65));
  if (request.method === 'GET' && what === 'silent file') {
    response.writeHead(200).flushHeaders();
    return;
  }
  if (request.method === 'PUT' && what === 'silent upload') return;
  request.on('end', () => reply(request.method === 'GET' ? 404 : 201));
}

function propfind(
  what: Hostility,
  path: string,
  isWhole: boolean,
  response: ServerResponse,
  reply: (status: number, body?: string) => void,
): void {
  const self = entry(path, null);
  if (!isWhole) return reply(207, `${start}${self}${end}`);
  const at = (name: string): string => `${path.replace(/\/$/, '')}/${name}`;
  switch (what) {
    case 'endless listing':
      response.writeHead(207, { 'content-type': 'application/xml' });
      response.write(start);
      return flood(response, Buffer.from(entry(`/x/${'a'.repeat(200)}`, 1).repeat(200)));
    case 'silent listing':
      response.writeHead(207, { 'content-type': 'application/xml' });
      response.write(start);
      return;
    case 'entities': {
      const levels = Array.from({ length: 8 }, (_, at) => `<!ENTITY a${at + 1} "${`&a${at};`.repeat(10)}">`);
      const type = `<!DOCTYPE d [<!ENTITY a0 "${'x'.repeat(1000)}">${levels.join('')}]>`;
      return reply(207, `<?xml version="1.0"?>${type}<d:multistatus xmlns:d="DAV:">${entry('&a8;', 1)}${end}`);
    }
    case 'deep listing':
      return reply(207, `${start}${'<d:response>'.repeat(9_000)}`);
    case 'many files':
      return reply(207, `${start}${self}${entry(at(listed), 1).repeat(12_000)}${end}`);
    case 'odd names': {
      const names = ['../../../../etc/passwd.age', '..%2f..%2fescape.age', `a/../../${listed}`, '%3Cimg src=x%3E.age'];
      return reply(
        207,
        `${start}${self}${[...names, listed].map((name) => entry(at(name), 5)).join('')}${entry(at(listed.replace('x', 'y')), -5)}${end}`,
      );
    }
    case 'endless file':
    case 'silent file':
      return reply(207, `${start}${self}${entry(at(listed), 1000)}${end}`);
    case 'none':
    case 'redirect':
    case 'silent upload':
      return reply(207, `${start}${self}${end}`);
  }
}

/** Sends without an end, as fast as it is taken. */
function flood(response: ServerResponse, block: Buffer): void {
  const go = (): void => {
    while (!response.destroyed && response.write(block));
    if (!response.destroyed) response.once('drain', go);
  };
  go();
}

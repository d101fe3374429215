import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Variant } from '../../rig/image-variant.ts';

const repository = join(import.meta.dirname, '../../..');
const web = join(repository, 'dist/web');

/** The frontend with other content in a file; null: the file is not there (OCI image specification, "Whiteouts"). */
function withFile(path: string, content: string | null): Variant {
  const at = `srv/${path}`;
  if (content !== null) return { files: [{ path: at, content }] };
  const slash = at.lastIndexOf('/') + 1;
  return { files: [{ path: `${at.slice(0, slash)}.wh.${at.slice(slash)}`, content: '' }] };
}

/** Files of the web app in `dist`, by a pattern below its folder. */
function fileOf(pattern: string): string {
  const [file] = globSync(pattern, { cwd: web }).sort();
  if (file === undefined) throw new Error(`the web app has no file ${pattern}`);
  return file;
}

/** The frontend without a file, and without its compressed forms. */
export function withoutFile(pattern: string): Variant {
  const file = fileOf(pattern);
  const all = [file, `${file}.br`, `${file}.gz`].flatMap((path) => withFile(path, null).files ?? []);
  return { files: all };
}

/** The frontend with other content in a file, and in its compressed forms. */
export function withContent(pattern: string, content: string): Variant {
  const without = (withoutFile(pattern).files ?? []).slice(1);
  return { files: [...(withFile(fileOf(pattern), content).files ?? []), ...without] };
}

/** The frontend with another form of a file, as it is stored compressed. */
export const withStored = (pattern: string, content: string): Variant => withFile(`${fileOf(pattern)}.br`, content);

export const changedPage = async (change: (html: string) => string): Promise<Variant> =>
  withFile('index.html', change(await readFile(join(web, 'index.html'), 'utf8')));

/** The frontend with another configuration of its web server. */
export async function changedServer(change: (caddyfile: string) => string): Promise<Variant> {
  const caddyfile = await readFile(join(repository, 'deploy/frontend/Caddyfile'), 'utf8');
  return { files: [{ path: 'etc/caddy/Caddyfile', content: change(caddyfile) }] };
}

/** The backend with a program that is loaded before it, and changes what it does. */
export const withProgram = (program: string): Variant => ({
  files: [{ path: 'app/change.mjs', content: program }],
  config: { Cmd: ['node', '--import', '/app/change.mjs', '--expose-gc', '/app/station-backend.mjs'] },
});

/** Does something else with requests for which `condition` holds, an expression of `request`; `action` may use `response`. */
export const onRequest = (condition: string, action: string): Variant =>
  withProgram(`import { Server } from 'node:http';
const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, response, ...more) {
  const passOn = () => emit.call(this, event, request, response, ...more);
  if (event !== 'request' || !(${condition})) return passOn();
  ${action};
  return true;
};`);

/** Answers requests to a path in place of the backend. */
export const answering = (path: string, status: number, body = '{}'): Variant =>
  onRequest(
    `request.url.startsWith(${JSON.stringify(path)})`,
    `response.writeHead(${status}, { 'content-type': 'application/json' }).end(${JSON.stringify(body)})`,
  );

/** Does something else with every upgrade to WebSocket. */
export const upgrading = (action: string): Variant =>
  withProgram(`import { Server } from 'node:http';
const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, socket, ...more) {
  if (event !== 'upgrade') return emit.call(this, event, request, socket, ...more);
  ${action};
  return true;
};`);

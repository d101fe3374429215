import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Variant } from '../../rig/image-variant.ts';

const web = join(import.meta.dirname, '../../../dist/web');

/** Files of the web app in `dist`, by a pattern below its folder. */
const fileOf = (pattern: string): string => {
  const [file] = globSync(pattern, { cwd: web }).sort();
  if (file === undefined) throw new Error(`the web app has no file ${pattern}`);
  return file;
};

/** The frontend with other content in a file; null: the file is not there (OCI image specification, "Whiteouts"). */
function withFile(path: string, content: string | null): Variant {
  const at = `srv/${path}`;
  if (content !== null) return { files: [{ path: at, content }] };
  const slash = at.lastIndexOf('/') + 1;
  return { files: [{ path: `${at.slice(0, slash)}.wh.${at.slice(slash)}`, content: '' }] };
}

export const withoutFile = (pattern: string): Variant => withFile(fileOf(pattern), null);
export const withContent = (pattern: string, content: string): Variant => withFile(fileOf(pattern), content);

export const changedPage = async (change: (html: string) => string): Promise<Variant> =>
  withFile('index.html', change(await readFile(join(web, 'index.html'), 'utf8')));

/** The backend with a program that is loaded before it, and changes what it does. */
export const withProgram = (program: string): Variant => ({
  files: [{ path: 'app/fault.mjs', content: program }],
  config: { Cmd: ['node', '--import', '/app/fault.mjs', '--expose-gc', '/app/station-backend.mjs'] },
});

/** Answers requests to a path in place of the backend. */
export const answering = (path: string, status: number, body = '{}'): Variant =>
  withProgram(`import { Server } from 'node:http';
const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, response, ...more) {
  if (event !== 'request' || !request.url.startsWith(${JSON.stringify(path)})) return emit.call(this, event, request, response, ...more);
  response.writeHead(${status}, { 'content-type': 'application/json' }).end(${JSON.stringify(body)});
  return true;
};`);

/** Does something else with every upgrade to WebSocket. */
export const upgrading = (action: string): Variant =>
  withProgram(`import { Server } from 'node:http';
const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, socket, ...more) {
  if (event !== 'upgrade') return emit.call(this, event, request, socket, ...more);
  ${action};
  return true;
};`);

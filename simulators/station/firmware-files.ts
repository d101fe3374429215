import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { parseFirmwareFileName } from '@station/protocol/firmware';

/** Serves only complete files of the firmware cache, with ranges, like the stack's reverse proxy (deploy/proxy/Caddyfile). */
export async function serveFirmware(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { folder, file }: { folder: string; file: string },
): Promise<void> {
  const isAsked = (method === 'GET' || method === 'HEAD') && parseFirmwareFileName(file) !== null;
  const bytes = isAsked ? await readFile(join(folder, file)).catch(() => null) : null;
  if (bytes === null) {
    response.writeHead(404).end();
    return;
  }
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
  const tagged = {
    etag,
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'application/octet-stream',
  };
  const wanted = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
  const isWhole = wanted === null || (headers['if-range'] ?? etag) !== etag;
  const first = isWhole ? 0 : Number(wanted[1]);
  const last = isWhole || wanted[2] === '' ? bytes.length - 1 : Math.min(Number(wanted[2]), bytes.length - 1);
  if (first > last) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  const range = isWhole ? {} : { 'content-range': `bytes ${first}-${last}/${bytes.length}` };
  response.writeHead(isWhole ? 200 : 206, { ...tagged, ...range, 'content-length': last - first + 1 });
  response.end(method === 'HEAD' ? undefined : bytes.subarray(first, last + 1));
}

import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { exactly } from './adapters/limited-copy.ts';
import { DestinationFault } from '../core/backup-destination.ts';
import { fitting } from '../http/pages.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { BackupKeeper } from './backup-keeper.ts';
import type { DownloadLinks } from './download-links.ts';
import { findTarget } from './kept-backups.ts';
import type { VerifiedStore } from './verified-store.ts';

/** Of a view, for all but the backups: a shared folder may hold those of many stations. */
const restBytes = 16 * 1024;

export type BackupRoutesParts = {
  keeper: BackupKeeper;
  verified: VerifiedStore;
  links: DownloadLinks;
};

/** /api/backup: list, make, download, delete, settings (contracts, section 9). */
export async function registerBackupRoutes(app: HttpServer, parts: BackupRoutesParts): Promise<void> {
  const { keeper, verified, links } = parts;
  serve(app, 'GET /api/backup', async () => {
    const view = await keeper.view();
    return { ...view, backups: fitting(view.backups, restBytes) };
  });
  serve(app, 'PUT /api/backup/settings', async (request) => {
    await keeper.change(request.body);
    return keeper.view();
  });
  serve(app, 'POST /api/backup', async (request, reply) => {
    await keeper.begin(request.body.passphrase ?? null);
    return reply.code(202).send(null);
  });
  serve(app, 'POST /api/backup/cancel', async (_request, reply) => {
    keeper.cancel();
    return reply.code(204).send(null);
  });
  serve(app, 'POST /api/backup/:id/link', async (request) => {
    findTarget(await keeper.targets(), request.params.id);
    const { token, expiresAt } = links.make(request.params.id);
    return { path: `/api/backup/download/${token}`, expiresAt: isoTime(expiresAt) };
  });
  serve(app, 'DELETE /api/backup/:id', async (request, reply) => {
    const { target, name } = findTarget(await keeper.targets(), request.params.id);
    await asAnswer(() => target.destination.remove(name));
    await verified.remove(target.destination.place, name);
    return reply.code(204).send(null);
  });
  registerDownload(app, parts);
}

/** The token in the path is the permission. */
function registerDownload(app: HttpServer, { keeper, links }: BackupRoutesParts): void {
  serve(app, 'GET /api/backup/download/:token', async (request, reply) => {
    const id = links.take(request.params.token);
    if (id === null) throw new StationError('not_found', 'This address has expired. Begin the download again.');
    const { target, name } = findTarget(await keeper.targets(), id);
    const { content, bytes } = await asAnswer(async () => {
      const found = (await target.destination.list()).find((file) => file.name === name);
      if (found === undefined) throw new StationError('not_found', 'There is no such backup.');
      const { bytes } = found;
      return { content: exactly(await target.destination.read(name, keeper.transfers()), bytes), bytes };
    });
    return reply
      .headers({ 'content-disposition': `attachment; filename="${name}"`, 'content-length': bytes })
      .type('application/octet-stream')
      .send(content);
  });
}

/** @throws StationError unavailable, with the reason, when the destination does not do it. */
export async function asAnswer<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof DestinationFault)) throw error;
    const details = { reason: error.reason };
    throw new StationError('unavailable', 'The destination of this backup cannot be used now.', {
      details,
      cause: error,
    });
  }
}

import { Type } from 'typebox';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import {
  BackupId,
  BackupLink,
  BackupMake,
  BackupSettingsPut,
  BackupView,
  UploadId,
} from '@station/protocol/backup-api';
import { exactly } from '../adapters/limited-copy.ts';
import { DestinationFault } from '../core/backup-destination.ts';
import { fitting } from '../http/pages.ts';
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

const tags = ['backup'];
/** A backup holds everything, so only the owner may have one. */
const config = { access: { station: 'owner' } } as const;
const Params = Type.Object({ id: BackupId });
const none = { 204: Type.Null() };

/** /api/backup: list, make, download, delete, settings (contracts, section 9). */
export async function registerBackupRoutes(app: HttpServer, parts: BackupRoutesParts): Promise<void> {
  const { keeper, verified, links } = parts;
  app.get('/api/backup', { config, schema: { tags, response: { 200: BackupView } } }, async () => {
    const view = await keeper.view();
    return { ...view, backups: fitting(view.backups, restBytes) };
  });
  app.put(
    '/api/backup/settings',
    { config, schema: { tags, body: BackupSettingsPut, response: { 200: BackupView } } },
    async (request) => {
      await keeper.change(request.body);
      return keeper.view();
    },
  );
  app.post(
    '/api/backup',
    { config, schema: { tags, body: BackupMake, response: { 202: Type.Null() } } },
    async (request, reply) => {
      await keeper.begin(request.body.passphrase ?? null);
      return reply.code(202).send(null);
    },
  );
  app.post('/api/backup/cancel', { config, schema: { tags, response: none } }, async (_request, reply) => {
    keeper.cancel();
    return reply.code(204).send(null);
  });
  app.post(
    '/api/backup/:id/link',
    { config, schema: { tags, params: Params, response: { 200: BackupLink } } },
    async (request) => {
      findTarget(await keeper.targets(), request.params.id);
      const { token, expiresAt } = links.make(request.params.id);
      return { path: `/api/backup/download/${token}`, expiresAt: isoTime(expiresAt) };
    },
  );
  app.delete(
    '/api/backup/:id',
    { config, schema: { tags, params: Params, response: none } },
    async (request, reply) => {
      const { target, name } = findTarget(await keeper.targets(), request.params.id);
      await asAnswer(() => target.destination.remove(name));
      await verified.remove(target.destination.place, name);
      return reply.code(204).send(null);
    },
  );
  registerDownload(app, parts);
}

/** The token in the path is the permission. */
function registerDownload(app: HttpServer, { keeper, links }: BackupRoutesParts): void {
  app.get(
    '/api/backup/download/:token',
    { config: { access: 'public' }, schema: { tags, params: Type.Object({ token: UploadId }) } },
    async (request, reply) => {
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
    },
  );
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

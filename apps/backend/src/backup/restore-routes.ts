import type { FastifyReply, FastifyRequest } from 'fastify';
import { join } from 'node:path';
import { Type } from 'typebox';
import { StationError } from '@station/kit/station-error';
import {
  RestoreAnswer,
  RestoreRequest,
  SetupRestoreRequest,
  SetupUploadStart,
  UploadId,
  UploadStart,
  UploadStarted,
  UploadState,
} from '@station/protocol/backup-api';
import { uploadPieceBytes } from '@station/protocol/backup-upload';
import type { RestorePart } from '@station/protocol/backups';
import { makeFolder } from '../adapters/backup-files.ts';
import { writeStream } from '../adapters/upload-file.ts';
import type { HttpServer } from '../http/server.ts';
import type { BackupEngine } from './backup-engine.ts';
import type { BackupKeeper } from './backup-keeper.ts';
import { asAnswer } from './backup-routes.ts';
import { findTarget } from './kept-backups.ts';
import type { Uploads } from './uploads.ts';

export type RestoreRoutesParts = {
  engine: BackupEngine;
  keeper: Pick<BackupKeeper, 'targets'>;
  uploads: Uploads;
  /** Folder for a copy of a backup that is not on this machine. */
  copies: string;
  /** @throws StationError when the station has an owner, the code is wrong, or too many were tried. */
  checkSetupCode: (code: string, address: string) => Promise<void>;
  /** @throws StationError when the station has an owner, or somebody sets it up or restores it now. */
  restoreFirst: <T>(find: () => Promise<string>, action: (file: string) => Promise<T>) => Promise<T>;
  /** Stop and start again. */
  onRestart: () => void;
};

const tags = ['backup'];
const forOwner = { access: { station: 'owner' } } as const;
const forAnyone = { access: 'public' } as const;
const Params = Type.Object({ id: UploadId });
const Offset = Type.Object({ offset: Type.Integer({ minimum: 0 }) }, { additionalProperties: false });

/**
 * Upload and restore: `/api/backup` for the owner, and `/api/setup/backup` for whoever has the set-up code of a station without an owner.
 * The id of an upload, which nobody can guess, is the permission to send its pieces.
 */
export async function registerRestoreRoutes(app: HttpServer, parts: RestoreRoutesParts): Promise<void> {
  registerUploads(app, parts);
  app.post(
    '/api/backup/restore',
    { config: forOwner, schema: { tags, body: RestoreRequest, response: { 200: RestoreAnswer } } },
    async (request, reply) => {
      const { upload, backup, passphrase, parts: chosen = null } = request.body;
      if ((upload === undefined) === (backup === undefined))
        throw new StationError('bad_request', 'Name an upload or a backup.');
      const path = upload === undefined ? await fetchBackup(parts, backup!) : await parts.uploads.complete(upload);
      return reply.send(await restore(parts, reply, { path, passphrase, chosen }));
    },
  );
  app.post(
    '/api/setup/backup/restore',
    { config: forAnyone, schema: { tags, body: SetupRestoreRequest, response: { 200: RestoreAnswer } } },
    async (request, reply) => {
      const { upload, passphrase } = request.body;
      const answer = await parts.restoreFirst(
        () => parts.uploads.complete(upload),
        (path) => restore(parts, reply, { path, passphrase, chosen: null }),
      );
      return reply.send(answer);
    },
  );
}

function registerUploads(app: HttpServer, parts: RestoreRoutesParts): void {
  const { uploads } = parts;
  const response = { 200: UploadStarted };
  app.post(
    '/api/backup/uploads',
    { config: forOwner, schema: { tags, body: UploadStart, response } },
    async (request) => ({ id: await uploads.begin(request.body.bytes) }),
  );
  app.post(
    '/api/setup/backup/uploads',
    { config: forAnyone, schema: { tags, body: SetupUploadStart, response } },
    async (request) => {
      const { bytes, code } = request.body;
      await parts.checkSetupCode(code, request.ip);
      return { id: await uploads.begin(bytes) };
    },
  );
  // A scope of its own: only these routes read bodies of this type, and they read them themselves.
  void app.register(async (scope: HttpServer) => {
    scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    const schema = { tags, params: Params, querystring: Offset, response: { 200: UploadState } };
    // The path is the permission, so it is checked before anything arrives.
    const onRequest = async ({ params }: FastifyRequest): Promise<void> => uploads.check((params as { id: string }).id);
    const route = { config: forAnyone, bodyLimit: uploadPieceBytes, onRequest, schema };
    scope.put('/api/backup/uploads/:id', route, async (request) => {
      const { id } = request.params;
      const { offset } = request.query;
      return { received: await uploads.append(id, offset, await readPiece(request)) };
    });
  });
}

async function readPiece(request: FastifyRequest): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > uploadPieceBytes) throw new StationError('payload_too_large', 'A piece has at most 1 MiB.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A backup of a destination as a file of this machine, where the next upload or start removes it. */
async function fetchBackup({ keeper, copies }: RestoreRoutesParts, id: string): Promise<string> {
  const { target, name } = findTarget(await keeper.targets(), id);
  const path = join(copies, name);
  await makeFolder(copies);
  await asAnswer(async () => writeStream(path, await target.destination.read(name)));
  return path;
}

/** Checks the backup and prepares it; the process then starts again, once the answer is sent. @throws StationError backup_refused. */
async function restore(
  { engine, uploads, onRestart }: RestoreRoutesParts,
  reply: FastifyReply,
  { path, passphrase, chosen }: { path: string; passphrase: string; chosen: RestorePart[] | null },
) {
  const outcome = await engine.restore(path, passphrase, chosen);
  if (outcome.kind === 'refused')
    throw new StationError('backup_refused', outcome.message, { details: { reason: outcome.reason } });
  await uploads.remove();
  reply.raw.once('finish', onRestart);
  const { stationId, stationName, createdAt, missing } = outcome.manifest;
  return { stationId, stationName, createdAt, missing };
}

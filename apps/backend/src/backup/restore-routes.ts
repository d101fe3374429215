import type { FastifyReply, FastifyRequest } from 'fastify';
import { collectBytes } from '@station/kit/collect-bytes';
import { onceClosed } from '@station/kit/once-closed';
import { StationError } from '@station/kit/station-error';
import type { BackupInspection, RestoreDoubt } from '@station/protocol/backup-api';
import { uploadPieceBytes } from '@station/protocol/backup-upload';
import { backupRefusals, type RestorePart } from '@station/protocol/backups';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { BackupEngine } from './backup-engine.ts';
import type { BackupOutcome } from './backup-job.ts';
import type { BackupKeeper } from './backup-keeper.ts';
import { readBackupName } from './backup-name-decide.ts';
import { asAnswer } from './backup-routes.ts';
import { doubtsOf } from './doubts-decide.ts';
import { fetchBackup } from './fetch-backup.ts';
import type { LostDatabase } from './lost-database.ts';
import type { Uploads } from './uploads.ts';

export type RestoreRoutesParts = {
  engine: BackupEngine;
  keeper: Pick<BackupKeeper, 'targets' | 'transfers'>;
  uploads: Uploads;
  lost: Pick<LostDatabase, 'fetch'>;
  stationId: string;
  /** Folder for a copy of a backup that is not on this machine. */
  copies: string;
  /** @throws StationError when the station has an owner, the code is wrong, or too many were tried. */
  checkSetupCode: (code: string, address: string) => Promise<void>;
  /** @throws StationError when the station has an owner, or somebody sets it up or restores it now. */
  restoreFirst: <File, T>(find: () => Promise<File>, action: (file: File) => Promise<T>) => Promise<T>;
  /** @throws StationError when the station has an owner. */
  requireSetup: () => Promise<void>;
  /** Stop and start again. */
  onRestart: () => void;
};

/**
 * Upload and restore: `/api/backup` for the owner, and `/api/setup/backup` for whoever has the set-up code of a station without an owner.
 * The id of an upload, which nobody can guess, is the permission to send its pieces.
 */
export async function registerRestoreRoutes(app: HttpServer, parts: RestoreRoutesParts): Promise<void> {
  registerUploads(app, parts);
  serve(app, 'POST /api/backup/restore', async (request, reply) => {
    const { passphrase, parts: chosen = null, accept = [] } = request.body;
    const file = { ...(await findFile(parts, request.body)), own: parts.stationId };
    return reply.send(await restore(parts, reply, { file, passphrase, chosen, accept }));
  });
  serve(app, 'POST /api/backup/inspect', async (request) => {
    const file = { ...(await findFile(parts, request.body)), own: parts.stationId };
    return inspect(parts, file, request.body.passphrase);
  });
  serve(app, 'POST /api/setup/backup/inspect', async (request) => {
    await parts.requireSetup();
    const file = { ...(await findFile(parts, request.body)), own: null };
    return inspect(parts, file, request.body.passphrase);
  });
  serve(app, 'POST /api/setup/backup/restore', async (request, reply) => {
    const { passphrase, accept = [] } = request.body;
    const answer = await parts.restoreFirst(
      () => findFile(parts, request.body),
      (found) => restore(parts, reply, { file: { ...found, own: null }, passphrase, chosen: null, accept }),
    );
    return reply.send(answer);
  });
}

function registerUploads(app: HttpServer, parts: RestoreRoutesParts): void {
  const { uploads } = parts;
  serve(app, 'POST /api/backup/uploads', async (request) => ({
    id: await uploads.begin(request.body.bytes, request.body.name),
  }));
  serve(app, 'POST /api/setup/backup/uploads', async (request) => {
    const { bytes, code, name } = request.body;
    await parts.checkSetupCode(code, request.ip);
    return { id: await uploads.begin(bytes, name) };
  });
  serve(app, 'POST /api/setup/backup/found', async (request) => {
    await parts.checkSetupCode(request.body.code, request.ip);
    const file = await asAnswer(() => parts.lost.fetch(parts.keeper.transfers()));
    if (file === null) throw new StationError('not_found', 'There is no such backup.');
    return { id: await uploads.adopt(file) };
  });
  // A scope of its own: only these routes read bodies of this type, and they read them themselves.
  void app.register(async (scope: HttpServer) => {
    scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    // The path is the permission, so it is checked before anything arrives.
    const onRequest = async ({ params }: FastifyRequest): Promise<void> => uploads.check((params as { id: string }).id);
    serve(
      scope,
      'PUT /api/backup/uploads/:id',
      async (request) => {
        const { id } = request.params;
        const { offset } = request.query;
        return { received: await uploads.append(id, offset, await readPiece(request)) };
      },
      { bodyLimit: uploadPieceBytes, onRequest },
    );
  });
}

async function readPiece({ raw }: FastifyRequest): Promise<Uint8Array> {
  const bytes = await collectBytes(raw as AsyncIterable<Buffer>, uploadPieceBytes).catch((cause: unknown) => {
    // Somebody gave the upload up.
    throw new StationError('bad_request', 'The piece did not arrive.', { cause });
  });
  if (bytes === null) throw new StationError('payload_too_large', 'A piece has at most 1 MiB.');
  return bytes;
}

/** A file of this machine. `own`: id of this station; null: it has no owner yet. */
type BackupFile = { path: string; name: string; own: string | null };
type RestoreOf = {
  file: BackupFile;
  passphrase: string;
  chosen: RestorePart[] | null;
  accept: readonly RestoreDoubt[];
};

/** @throws StationError bad_request, not_found, conflict. */
async function findFile(
  parts: RestoreRoutesParts,
  { upload, backup }: { upload?: string; backup?: string },
): Promise<Omit<BackupFile, 'own'>> {
  if ((upload === undefined) === (backup === undefined))
    throw new StationError('bad_request', 'Name an upload or a backup.');
  parts.uploads.use();
  return upload === undefined ? asAnswer(() => fetchBackup(parts, backup!)) : parts.uploads.complete(upload);
}

/** @throws StationError backup_refused. */
async function inspect(
  { engine }: RestoreRoutesParts,
  { path, name, own }: BackupFile,
  passphrase: string,
): Promise<BackupInspection> {
  const outcome = await engine.inspect(path, passphrase);
  if (outcome.kind === 'refused') throw refusal(outcome);
  const { stationId, stationName, createdAt, version } = outcome.manifest;
  const doubts = doubtsOf(outcome.manifest, { own, namedAt: readBackupName(name)?.madeAt ?? null });
  return { stationId, stationName, createdAt, version, doubts };
}

const refusal = ({ message, reason }: Extract<BackupOutcome, { kind: 'refused' }>): StationError =>
  new StationError('backup_refused', message, { details: { reason } });

/** Checks the backup and prepares it; the process then starts again, once the answer is sent. @throws StationError backup_refused. */
async function restore(
  parts: RestoreRoutesParts,
  reply: FastifyReply,
  { file, passphrase, chosen, accept }: RestoreOf,
) {
  const { engine, uploads, onRestart } = parts;
  const found = await inspect(parts, file, passphrase);
  if (!found.doubts.every((doubt) => accept.includes(doubt)))
    throw new StationError('backup_refused', backupRefusals.unconfirmed, {
      details: { reason: 'unconfirmed', ...found },
    });
  const outcome = await engine.restore(file.path, passphrase, chosen);
  if (outcome.kind === 'refused') throw refusal(outcome);
  await uploads.remove();
  onceClosed(reply.raw, onRestart);
  const { stationId, stationName, createdAt, missing } = outcome.manifest;
  return { stationId, stationName, createdAt, missing };
}

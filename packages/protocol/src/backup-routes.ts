import { Type } from 'typebox';
import {
  BackupId,
  BackupInspection,
  BackupLink,
  BackupMake,
  BackupSettingsPut,
  BackupView,
  InspectRequest,
  RestoreAnswer,
  RestoreRequest,
  SetupFound,
  SetupInspectRequest,
  SetupRestoreRequest,
  SetupUploadStart,
  UploadId,
  UploadStart,
  UploadStarted,
  UploadState,
} from './backup-api.ts';
import { noContent, type RouteTable } from './route.ts';

const tags = ['backup'];
/** A backup holds everything, so only the owner may have one. */
const forOwner = { station: 'owner' } as const;
const params = Type.Object({ id: BackupId });
const TokenParams = Type.Object({ token: UploadId });
const UploadParams = Type.Object({ id: UploadId });
const UploadQuery = Type.Object({ offset: Type.Integer({ minimum: 0 }) }, { additionalProperties: false });

/**
 * `/api/backup` for the owner, and `/api/setup/backup` for whoever has the set-up code of a station without an owner. The token of a
 * download and the id of an upload, which nobody can guess, are the permission (contracts, section 9).
 */
export const backupRoutes = {
  'GET /api/backup': { access: forOwner, tags, response: { 200: BackupView } },
  'PUT /api/backup/settings': { access: forOwner, tags, body: BackupSettingsPut, response: { 200: BackupView } },
  'POST /api/backup': { access: forOwner, tags, body: BackupMake, response: { 202: Type.Null() } },
  'POST /api/backup/cancel': { access: forOwner, tags, response: noContent },
  'POST /api/backup/:id/link': { access: forOwner, tags, params, response: { 200: BackupLink } },
  'DELETE /api/backup/:id': { access: forOwner, tags, params, response: noContent },
  'GET /api/backup/download/:token': { access: 'public', tags, params: TokenParams },
  'POST /api/backup/uploads': { access: forOwner, tags, body: UploadStart, response: { 200: UploadStarted } },
  'POST /api/setup/backup/uploads': {
    access: 'public',
    tags,
    body: SetupUploadStart,
    response: { 200: UploadStarted },
  },
  'POST /api/setup/backup/found': { access: 'public', tags, body: SetupFound, response: { 200: UploadStarted } },
  'PUT /api/backup/uploads/:id': {
    access: 'public',
    tags,
    params: UploadParams,
    querystring: UploadQuery,
    response: { 200: UploadState },
  },
  'POST /api/backup/restore': { access: forOwner, tags, body: RestoreRequest, response: { 200: RestoreAnswer } },
  'POST /api/backup/inspect': { access: forOwner, tags, body: InspectRequest, response: { 200: BackupInspection } },
  'POST /api/setup/backup/inspect': {
    access: 'public',
    tags,
    body: SetupInspectRequest,
    response: { 200: BackupInspection },
  },
  'POST /api/setup/backup/restore': {
    access: 'public',
    tags,
    body: SetupRestoreRequest,
    response: { 200: RestoreAnswer },
  },
} satisfies RouteTable;

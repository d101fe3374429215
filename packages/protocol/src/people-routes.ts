import { Type } from 'typebox';
import {
  NewPasskey,
  Passkey,
  PasskeyCreation,
  PasskeyCreationRequest,
  PasskeyList,
  PasskeyLogin,
  PasskeyPatch,
  PasskeyRequest,
} from './passkeys.ts';
import {
  AddedMember,
  Id,
  LoginRequest,
  MadePassword,
  Member,
  MemberPatch,
  Members,
  NewMember,
  PageQuery,
  PasswordChange,
  Session,
  SessionList,
  SetupRequest,
  SetupState,
  Station,
  StationPatch,
  User,
} from './rest.ts';
import { forAdmins, IdParams, noContent, type RouteTable } from './route.ts';

const ofAnyone = { access: 'public', tags: ['auth'] } as const;
const ofEveryone = { access: 'guest', tags: ['auth'] } as const;
const SessionParams = Type.Object({ id: Type.String({ maxLength: 64 }) });
const tags = ['station'];
const params = Type.Object({ userId: Id });

/** Accounts, sessions and members (contracts, section 9). */
export const peopleRoutes = {
  'GET /api/auth/setup': { ...ofAnyone, response: { 200: SetupState } },
  'POST /api/auth/setup': { ...ofAnyone, body: SetupRequest, response: { 201: Session } },
  'POST /api/auth/login': { ...ofAnyone, body: LoginRequest, response: { 200: Session } },
  'POST /api/auth/refresh': { ...ofAnyone, response: { 200: Session } },
  'POST /api/auth/logout': { ...ofAnyone, response: noContent },
  'GET /api/auth/me': { ...ofEveryone, response: { 200: User } },
  'POST /api/auth/password': { ...ofEveryone, body: PasswordChange, response: noContent },
  'GET /api/auth/sessions': { ...ofEveryone, response: { 200: SessionList } },
  'DELETE /api/auth/sessions': { ...ofEveryone, response: noContent },
  'DELETE /api/auth/sessions/:id': { ...ofEveryone, params: SessionParams, response: noContent },
  'GET /api/auth/passkeys': { ...ofEveryone, response: { 200: PasskeyList } },
  'POST /api/auth/passkeys/options': {
    ...ofEveryone,
    body: PasskeyCreationRequest,
    response: { 200: PasskeyCreation },
  },
  'POST /api/auth/passkeys': { ...ofEveryone, body: NewPasskey, response: { 201: Passkey } },
  'PATCH /api/auth/passkeys/:id': {
    ...ofEveryone,
    params: IdParams,
    body: PasskeyPatch,
    response: { 200: Passkey },
  },
  'DELETE /api/auth/passkeys/:id': { ...ofEveryone, params: IdParams, response: noContent },
  'POST /api/auth/passkeys/login-options': { ...ofAnyone, response: { 200: PasskeyRequest } },
  'POST /api/auth/passkeys/login': { ...ofAnyone, body: PasskeyLogin, response: { 200: Session } },
  'GET /api/station': { access: 'guest', tags, response: { 200: Station } },
  'PATCH /api/station': { access: forAdmins, tags, body: StationPatch, response: { 200: Station } },
  'GET /api/station/members': { access: 'user', tags, querystring: PageQuery, response: { 200: Members } },
  'POST /api/station/members': { access: forAdmins, tags, body: NewMember, response: { 201: AddedMember } },
  'PATCH /api/station/members/:userId': {
    access: forAdmins,
    tags,
    params,
    body: MemberPatch,
    response: { 200: Member },
  },
  'DELETE /api/station/members/:userId': { access: forAdmins, tags, params, response: noContent },
  'POST /api/station/members/:userId/password': { access: forAdmins, tags, params, response: { 200: MadePassword } },
} satisfies RouteTable;

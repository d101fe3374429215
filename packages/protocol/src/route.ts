import { type TSchema, Type } from 'typebox';
import { Id } from './rest.ts';
import type { Role } from './roles.ts';

/**
 * Who may use a route.
 * - `public`: anyone, also without a token
 * - `user`: any logged-in user who may see the whole station; `{ roles }`: any user with one of these global roles
 * - `limited`: also limited members, `guest`: also guests. They are answered only what they see
 * - `{ station }`: any user with at least this role on the station (owner, admin, member); `orFormerOwner`: also the user who was the owner
 *   before the cloud named another
 * - `agent`, `device`: a caller with the agent's token, or with a device's token
 * - `metrics`: the program that has METRICS_TOKEN; without that variable there is no such address
 */
export type AccessRule =
  | 'public'
  | 'user'
  | 'limited'
  | 'guest'
  | 'agent'
  | 'device'
  | 'metrics'
  | { roles: readonly Role[] }
  | { station: Role; orFormerOwner?: true };

export type Route = {
  access: AccessRule;
  tags: readonly string[];
  description?: string;
  params?: TSchema;
  querystring?: TSchema;
  body?: TSchema;
  /** By status, without errors (`errors.ts`). Left out: a file or a stream. */
  response?: Readonly<Record<number, TSchema>>;
  /** The route reads much, at once or as a stream: few such requests are answered at a time. */
  heavy?: 'answer' | 'stream';
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Routes by method and path; `:name` in a path is one of `params`. */
export type RouteTable = Readonly<Record<`${Method} /${string}`, Route>>;

export const forAdmins = { station: 'admin' } as const;
export const forOperators = { roles: ['owner', 'admin'] } as const;
export const IdParams = Type.Object({ id: Id });
export const noContent = { 204: Type.Null() };

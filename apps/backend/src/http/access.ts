import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { strangerBodyBytes } from '@station/kit/bounded-requests';
import { StationError } from '@station/kit/station-error';
import { NoBody, NoQuery } from '@station/kit/validation';
import type { Role } from '@station/protocol/roles';
import type { AccessRule } from '@station/protocol/route';
import type { AccessClaims } from '../core/access-tokens.ts';
import type { Sight } from '../core/sight.ts';
import { authorize, type RequestHook } from './caller.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that has none stops the start (deny by default). */
    access?: AccessRule;
  }
  interface FastifyRequest {
    /** Set by verifyToken; null on routes that need no user. */
    user: AccessClaims | null;
    /** What this user sees; null on routes that limited members may not use. */
    sight: Sight | null;
    /** Set by verifyDeviceToken. */
    deviceId: string | null;
  }
}

/** The hooks that implement the rules. */
type AccessHooks = {
  verifyToken: RequestHook;
  /** For users of at least this rank. */
  admit: (lowest: Role) => RequestHook;
  requireStationRole: (role: Role, orFormerOwner: boolean) => RequestHook;
  verifyDeviceToken: RequestHook;
  verifyAgentToken: RequestHook;
  verifyMetricsToken: RequestHook;
};

/**
 * Adds the hooks of its declared rule to every route that is registered from now on, and throws for a route without a rule. It also refuses
 * an undeclared query or body.
 */
export function enforceAccess(app: FastifyInstance, hooks: AccessHooks): void {
  app.addHook('onRoute', (route) => {
    const rule = route.config?.access;
    const methods = [route.method].flat();
    const name = `${methods.join(',')} ${route.url}`;
    if (rule === undefined) throw new Error(`The route ${name} declares no access rule`);
    if (rule !== 'public' && methods.some((method) => method === 'HEAD' || method === 'OPTIONS')) {
      // verifyToken lets HEAD and OPTIONS pass, so such a route would be open.
      throw new Error(`The route ${name} must be public: HEAD and OPTIONS are not checked for a token`);
    }
    if (rule === 'public') route.bodyLimit ??= strangerBodyBytes;
    route.onRequest = [...hooksOf(rule, hooks), ...[route.onRequest ?? []].flat()];
    closeUndeclared(route, methods);
  });
}

/** The user of a route whose rule asks for one. */
export function userOf(request: FastifyRequest): AccessClaims {
  if (request.user === null)
    throw new Error(`The route ${request.routeOptions.url} reads a user that its access rule does not ask for`);
  return request.user;
}

/** Which devices the user of a route that admits limited members sees. */
export function sightOf(request: FastifyRequest): Sight {
  if (request.sight === null)
    throw new Error(`The route ${request.routeOptions.url} reads a sight that its access rule does not ask for`);
  return request.sight;
}

function hooksOf(rule: AccessRule, hooks: AccessHooks): RequestHook[] {
  if (typeof rule === 'object') {
    return 'roles' in rule
      ? [hooks.verifyToken, authorize(rule.roles)]
      : [hooks.verifyToken, hooks.requireStationRole(rule.station, rule.orFormerOwner === true)];
  }
  switch (rule) {
    case 'public':
      return [];
    case 'user':
      return [hooks.verifyToken, hooks.admit('member')];
    case 'limited':
    case 'guest':
      return [hooks.verifyToken, hooks.admit(rule)];
    case 'agent':
      return [hooks.verifyAgentToken];
    case 'device':
      return [hooks.verifyDeviceToken];
    case 'metrics':
      return [hooks.verifyMetricsToken];
  }
}

function closeUndeclared(route: RouteOptions, methods: string[]): void {
  route.schema = { ...route.schema };
  route.schema.querystring ??= NoQuery;
  if (methods.some((method) => method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE')) {
    route.schema.body ??= NoBody;
  }
}

/**
 * Whether a request comes from a page of this station. Browsers send `Origin` with every WebSocket and every POST. Other programs send
 * none, and have no browser cookies.
 */
function isOwnOrigin(request: FastifyRequest['raw']): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  const page = URL.parse(origin);
  // Compares only host and port: TLS may end at a proxy before the backend. Some proxies name the usual port too.
  return page !== null && host !== undefined && URL.parse(`${page.protocol}//${host}`)?.host === page.host;
}

/** 403 for a request that a page of another site makes with the cookies of this one. */
export async function refuseForeignOrigin(request: FastifyRequest): Promise<void> {
  if (isOwnOrigin(request.raw)) return;
  throw new StationError('origin_not_allowed', 'Only pages of this station may send this request.');
}

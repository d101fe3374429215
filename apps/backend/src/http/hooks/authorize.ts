import type { Role } from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { RequestHook } from '../caller.ts';

/** 403 unless the user's global role is one of `roles` (specification, "Backend hooks", 2). Runs after verifyToken. */
export function authorize(roles: readonly Role[]): RequestHook {
  return async function authorizeRole(request) {
    if (request.user !== null && roles.includes(request.user.role)) return;
    throw new StationError('forbidden', `This needs the role ${roles.join(' or ')}.`);
  };
}

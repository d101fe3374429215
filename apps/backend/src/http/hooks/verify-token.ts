import type { AccessTokens } from '../../core/access-tokens.ts';
import { bearerToken, unauthorized, type RequestHook } from '../caller.ts';

/**
 * Sets `request.user` from `Authorization: Bearer <jwt>` (specification, "Backend hooks", 1). The token must verify and contain `userId`
 * and `role`; else 401. OPTIONS and HEAD pass unchecked, which is why `enforceAccess` allows them on public routes only.
 */
export function createVerifyToken(tokens: AccessTokens): RequestHook {
  return async function verifyToken(request) {
    if (request.method === 'OPTIONS' || request.method === 'HEAD') return;
    const token = bearerToken(request);
    const claims = token === null ? null : await tokens.verify(token);
    if (claims === null) throw unauthorized('Log in: the access token is missing, not valid or expired.');
    request.user = claims;
  };
}

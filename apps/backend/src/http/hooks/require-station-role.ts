import { roles, type Role } from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { StationStore } from '../../store/station-store.ts';
import type { RequestHook } from '../caller.ts';

/**
 * Makes a hook that checks the user's role in the station's records (specification, "Backend hooks", 3): the owner has the role owner,
 * others the role of station_members. It answers 403 to others, or when the role is too low. With `orFormerOwner`, the user who was the
 * owner before the cloud named another also passes. Runs after verifyToken.
 */
export function createRequireStationRole(
  station: Pick<StationStore, 'roleOf' | 'wasOwner'>,
): (role: Role, orFormerOwner: boolean) => RequestHook {
  return (role, orFormerOwner) =>
    async function requireStationRole(request) {
      const own = request.user === null ? null : await station.roleOf(request.user.userId);
      // `roles` is ordered by rank, the owner first.
      if (own !== null && roles.indexOf(own) <= roles.indexOf(role)) return;
      if (orFormerOwner && request.user !== null && (await station.wasOwner(request.user.userId))) return;
      throw new StationError('forbidden', `This needs the role ${role} on this station.`);
    };
}

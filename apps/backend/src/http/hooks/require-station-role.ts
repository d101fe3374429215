import { roles, type Role } from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { StationStore } from '../../store/station-store.ts';
import type { RequestHook } from '../caller.ts';

/**
 * Makes a hook that asks the station's own records who the user is (specification, "Backend hooks", 3): the owner of the station has
 * the role owner, anyone else the role of station_members. 403 for someone who is neither, or whose role is below the one asked for.
 * With `orFormerOwner` also someone passes who was the owner before the cloud named another. Runs after verifyToken.
 */
export function createRequireStationRole(
  station: Pick<StationStore, 'roleOf' | 'wasOwner'>,
): (role: Role, orFormerOwner: boolean) => RequestHook {
  return (role, orFormerOwner) =>
    async function requireStationRole(request) {
      const own = request.user === null ? null : await station.roleOf(request.user.userId);
      // `roles` stands in order of rank, the owner first.
      if (own !== null && roles.indexOf(own) <= roles.indexOf(role)) return;
      if (orFormerOwner && request.user !== null && (await station.wasOwner(request.user.userId))) return;
      throw new StationError('forbidden', `This needs the role ${role} on this station.`);
    };
}

import type { Role } from '@station/protocol/roles';

/**
 * Which devices somebody may see and use: those of some zones, or all (`zones` null). What a person reads, commands or is told of at /ws passes
 * `sees`. A device without a zone is seen only by those who see all.
 */
export type Sight = { zones: ReadonlySet<string> | null };

/** What a caller sees. */
export type FindSight = (caller: { userId: string; role: Role }) => Promise<Sight>;

export const wholeStation: Sight = { zones: null };

export const sees = ({ zones }: Sight, zoneId: string | null): boolean =>
  zones === null || (zoneId !== null && zones.has(zoneId));

/** For queries: null is no limit. */
export const zoneList = ({ zones }: Sight): readonly string[] | null => zones && [...zones];

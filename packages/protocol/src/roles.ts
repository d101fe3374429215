/**
 * A user's role on this station, by rank: an owner may do everything, an admin everything except change owners, a member may use devices.
 * A limited member sees and uses the devices of some zones only; so does a guest, without their history and until an end.
 */
export const roles = ['owner', 'admin', 'member', 'limited', 'guest'] as const;
export type Role = (typeof roles)[number];

/** Whether a role has at least the rank of another one. */
export const reaches = (role: Role, lowest: Role): boolean => roles.indexOf(role) <= roles.indexOf(lowest);
/** Whether a role may set up the station and its devices. */
export const isManager = (role: Role): boolean => reaches(role, 'admin');
/** Whether a role sees the devices of some zones only. */
export const isLimited = (role: Role): boolean => !reaches(role, 'member');

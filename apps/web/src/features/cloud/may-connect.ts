import type { User } from '@station/protocol/rest';

/** Whether they see the code of the station, and may end remote access: the owner, and who was it before the cloud named another. */
export const mayConnect = ({ role, wasOwner }: Pick<User, 'role' | 'wasOwner'>): boolean =>
  role === 'owner' || wasOwner === true;

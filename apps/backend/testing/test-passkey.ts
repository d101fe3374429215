import type { PasskeysTable } from '../src/people/people-tables.ts';

/** A row of `passkeys`, for tests that only look whether it is there. */
export const testPasskey = (userId: string): PasskeysTable => ({
  id: `passkey of ${userId}`,
  user_id: userId,
  name: 'Phone',
  rp_id: 'station.local',
  credential_id: `key of ${userId}`,
  public_key: 'AA',
  counter: 0,
  created_at: 1,
  used_at: null,
});

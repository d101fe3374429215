import type { BrokerLogins } from '@station/protocol/agent-backup';

/** The login that `deploy/mosquitto/start.sh` makes for the backend. */
const ownLogin = 'backend';

/**
 * The logins of a backup for the broker of this station. The backend's own login stays the present one: its password is in the
 * environment file of this station, and the one of the backup may be another.
 */
export function joinLogins(present: BrokerLogins, saved: BrokerLogins): BrokerLogins {
  const isOwn = ({ username }: { username: string }): boolean => username === ownLogin;
  const own = present.clients.filter(isOwn);
  if (own.length === 0) return saved;
  return { ...saved, clients: [...own, ...saved.clients.filter((client) => !isOwn(client))] };
}

import type { BrokerLogins } from '@station/protocol/agent-backup';
import { ownValue } from '@station/protocol/own-value';
import { deviceTopicEnds, isExternalId, stationTopicEnds } from '@station/protocol/topics';

/** The login that `deploy/mosquitto/start.sh` makes for the backend. */
const ownLogin = 'backend';

type Client = BrokerLogins['clients'][number] & Record<string, unknown>;
type Role = { rolename: string; acls: unknown };
type Acl = { acltype: string; topic: string; priority: number; allow: true };

/**
 * The logins of a backup for the broker of this station: devices alone, each with the rights that the station gives to a device. Everything
 * else stays as it is here: the login of the backend, whose password is in the environment file of this station, what an admin added, and
 * what nobody has a right to.
 */
export function joinLogins(present: BrokerLogins, saved: BrokerLogins): BrokerLogins {
  const names = new Set(present.clients.filter((client) => !isDevice(client)).map(({ username }) => username));
  const devices = saved.clients.flatMap((client) => {
    const device = names.has(client.username) ? null : deviceOf(client, rolesOf(saved));
    // Of two with one name the first one counts.
    if (device !== null) names.add(client.username);
    return device ?? [];
  });
  return {
    ...present,
    clients: [...present.clients.filter((client) => !isDevice(client)), ...devices.map(({ client }) => client)],
    roles: [
      ...rolesOf(present).filter(({ rolename }) => !rolename.startsWith(rolePrefix)),
      ...devices.map(({ role }) => role),
    ],
    defaultACLAccess: closedByDefault,
  } as BrokerLogins;
}

const rolePrefix = 'device-';
/** Everything that is not granted is refused. */
const closedByDefault = { publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: true };

const rolesOf = (logins: BrokerLogins): Role[] => {
  const { roles } = logins as { roles?: unknown };
  return Array.isArray(roles) ? roles.filter(isRole) : [];
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isRole = (value: unknown): value is Role => isRecord(value) && typeof value['rolename'] === 'string';

/** Whether a login has the role of the device of its name. */
function isDevice(client: Client): boolean {
  const { roles } = client;
  return (
    client.username !== ownLogin &&
    Array.isArray(roles) &&
    roles.some((role) => isRole(role) && role.rolename === `${rolePrefix}${client.username}`)
  );
}

/** What a login of a backup may be; null: it is none of a device. */
function deviceOf(client: Client, roles: readonly Role[]): { client: Client; role: Role } | null {
  const { username, textName = '', password, salt, iterations, encoded_password: encoded } = client;
  if (!isDevice(client) || !isExternalId(username)) return null;
  const rolename = `${rolePrefix}${username}`;
  const granted = roles.find((role) => role.rolename === rolename)?.acls;
  const acls = (Array.isArray(granted) ? granted : []).flatMap((acl: unknown) => allowedOf(acl, username) ?? []);
  const secret = isHash(encoded)
    ? { encoded_password: encoded }
    : isHash(password) && isHash(salt) && Number.isSafeInteger(iterations) && Number(iterations) <= mostIterations
      ? { password, salt, iterations }
      : null;
  if (secret === null || acls.length === 0) return null;
  const name = typeof textName === 'string' ? textName.slice(0, maxNameLength) : '';
  return {
    client: {
      username,
      textName: name,
      ...secret,
      ...(client['disabled'] === true && { disabled: true }),
      roles: [{ rolename }],
    },
    role: { rolename, acls },
  };
}

const maxNameLength = 100;
/** Mosquitto uses 101; each log-in costs as many. */
const mostIterations = 100_000;

const isHash = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z0-9+/=$,._-]{8,512}$/.test(value);

/** As the backend grants them (`mqtt/dynsec.ts`). */
const grants: Readonly<Record<string, readonly string[]>> = {
  publishClientSend: deviceTopicEnds,
  publishClientReceive: stationTopicEnds,
  subscribeLiteral: stationTopicEnds,
};

/** A right of a device on its own topics; null: no other right is taken. */
function allowedOf(acl: unknown, username: string): Acl | null {
  if (!isRecord(acl) || acl['allow'] !== true) return null;
  const { acltype, topic } = acl;
  if (typeof acltype !== 'string' || typeof topic !== 'string') return null;
  const [station, stationId = '', device, name, ...end] = topic.split('/');
  const isOwn = station === 'station' && uuidPattern.test(stationId) && device === 'device' && name === username;
  return isOwn && ownValue(grants, acltype)?.includes(end.join('/')) === true
    ? { acltype, topic, priority: 0, allow: true }
    : null;
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { deviceTopic, deviceTopicEnds, stationTopicEnds } from '@station/protocol/topics';
import type { SystemLogin, TopicRights } from '../core/foreign-devices-port.ts';
import {
  askDynsec,
  type DynsecAnswer as Answer,
  type DynsecBroker,
  type DynsecCommand as Command,
  NoAnswer,
} from './adapters/dynsec-requests.ts';

/** The login of a device. */
export type DeviceLogin = { externalId: string; token: string };

/**
 * Logins and rights of devices at Mosquitto's dynamic-security plugin, controlled by messages to `$CONTROL/dynamic-security/v1`
 * (mosquitto.org, "Dynamic Security Plugin").
 */
export type Dynsec = {
  /**
   * Gives the backend its own rights.
   * @param attempts how often it asks a broker that does not answer: a busy broker answers late.
   * @returns false when the broker has no such plugin: then another system manages the logins.
   */
  prepare(attempts: number, signal: AbortSignal): Promise<boolean>;
  /** Adds or renews logins, each with the right to its own topics alone. @throws (rejects) when the broker refuses. */
  add(logins: readonly DeviceLogin[]): Promise<void>;
  /**
   * Adds or renews the login of another system, with its rights alone. The backend may read what it publishes and publish what it reads: the broker
   * then ends the connection of the backend.
   * @throws (rejects) when the broker refuses.
   */
  addSystem(login: SystemLogin & { token: string }): Promise<void>;
  /** Removes it, with these rights of the backend. A missing login is not an error. */
  removeSystem(login: Pick<SystemLogin, 'login'>): Promise<void>;
  /** Removes a login; the broker ends its connection. A missing login is not an error. */
  remove(externalId: string): Promise<void>;
  /** Ends the connections of a login, which stays valid. */
  disconnect(externalId: string): Promise<void>;
  /** All user names at the broker. */
  list(): Promise<Set<string>>;
};

export type DynsecOptions = DynsecBroker & { stationId: string };

const backendRole = 'station-backend';
/** Devices in one message, well below the broker's packet limit. */
const chunk = 50;

export function createDynsec(options: DynsecOptions): Dynsec {
  const { stationId, username } = options;
  const { run } = createExclusiveRunner();
  const ask = (commands: readonly Command[]): Promise<Answer[]> => run(() => askDynsec(options, commands));
  /** Fails when a command failed, unless its goal was already reached. */
  const send = async (commands: readonly Command[]): Promise<void> => {
    const failed = (await ask(commands)).filter((answer) => answer.error !== undefined && !isSoAlready(answer));
    if (failed[0]) throw new Error(`The broker refuses ${failed[0].command}: ${failed[0].error}`);
  };
  const rolesOf = async (): Promise<string[]> => {
    const [answer] = await ask([{ command: 'getClient', username }]);
    const client = answer?.data?.['client'] as { roles?: { rolename: string }[] } | undefined;
    return client?.roles?.map(({ rolename }) => rolename) ?? [];
  };
  const hasRole = async (): Promise<boolean> => (await rolesOf()).includes(backendRole);
  return {
    prepare: async (attempts, signal) => {
      for (let attempt = 1; ; attempt++) {
        try {
          if (await hasRole()) return true;
          break;
        } catch (error) {
          if (!(error instanceof NoAnswer)) throw error;
          signal.throwIfAborted();
          if (attempt >= attempts) return false;
        }
      }
      await send([
        // Everything not granted is refused, also reading: a session takeover by another client reveals nothing.
        { command: 'setDefaultACLAccess', acls: closedByDefault },
        { command: 'createRole', rolename: backendRole },
        { command: 'modifyRole', rolename: backendRole, acls: allTopics },
      ]);
      // The broker disconnects a client whose rights change, here this one. So the answer may be lost.
      const granting = ask([{ command: 'addClientRole', username, rolename: backendRole }]);
      await granting.catch(() => undefined);
      if (!(await hasRole())) throw new Error('The broker does not grant the backend its rights');
      return true;
    },
    add: async (logins) => {
      for (let from = 0; from < logins.length; from += chunk) {
        await send(logins.slice(from, from + chunk).flatMap((login) => addingOf(stationId, login)));
      }
    },
    addSystem: async ({ login, rights, token }) => {
      const { own, backend: rolename } = systemRoles(login);
      await send([
        ...removingSystem(login),
        { command: 'createRole', rolename: own, acls: aclsOf(rights) },
        { command: 'createRole', rolename, acls: aclsOf({ mayPublish: rights.mayRead, mayRead: rights.mayPublish }) },
        { command: 'createClient', username: login, password: token, roles: [{ rolename: own }] },
      ]);
      // The broker disconnects a client whose rights change, here this one. So the answer may be lost.
      const granting = ask([{ command: 'addClientRole', username, rolename }]);
      await granting.catch(() => undefined);
      if (!(await rolesOf()).includes(rolename)) throw new Error('The broker does not grant the backend its rights');
    },
    removeSystem: async ({ login }) => {
      // As above.
      await send(removingSystem(login)).catch(() => undefined);
      await send(removingSystem(login));
    },
    remove: (externalId) => send(removingOf(externalId)),
    // The broker ends the connections of a login that it disables.
    disconnect: (username) =>
      send([
        { command: 'disableClient', username },
        { command: 'enableClient', username },
      ]),
    list: async () => {
      const [answer] = await ask([{ command: 'listClients', verbose: false, count: -1, offset: 0 }]);
      const names = answer?.data?.['clients'];
      return new Set(Array.isArray(names) ? names.map(String) : []);
    },
  };
}

/** Roles of another system, and of the backend because of it. */
const systemRoles = (login: string) => ({ own: `tree-${login}`, backend: `tree-${login}-${backendRole}` });
/** A pattern allows every filter that is not wider. */
const aclsOf = ({ mayPublish, mayRead }: TopicRights) => [
  ...mayPublish.map((filter) => allow('publishClientSend', filter)),
  ...mayRead.flatMap((filter) => [allow('publishClientReceive', filter), allow('subscribePattern', filter)]),
];
const removingSystem = (login: string): Command[] => [
  { command: 'deleteClient', username: login },
  ...Object.values(systemRoles(login)).map((rolename) => ({ command: 'deleteRole', rolename })),
];

const roleOf = (externalId: string): string => `device-${externalId}`;
const allow = (acltype: string, topic: string) => ({ acltype, topic, priority: 0, allow: true });
const allTopics = ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((type) =>
  allow(type, 'station/#'),
);
const closedByDefault = ['publishClientSend', 'publishClientReceive', 'subscribe'].map((acltype) => ({
  acltype,
  allow: false,
}));

/** Removes and re-creates them, so that no previous rights remain. */
function addingOf(stationId: string, { externalId, token }: DeviceLogin): Command[] {
  const rolename = roleOf(externalId);
  const acls = [
    ...deviceTopicEnds.map((end) => allow('publishClientSend', deviceTopic(stationId, externalId, end))),
    ...stationTopicEnds.flatMap((end) => {
      const topic = deviceTopic(stationId, externalId, end);
      return [allow('subscribeLiteral', topic), allow('publishClientReceive', topic)];
    }),
  ];
  return [
    ...removingOf(externalId),
    { command: 'createRole', rolename, acls },
    { command: 'createClient', username: externalId, password: token, roles: [{ rolename }] },
  ];
}

const removingOf = (externalId: string): Command[] => [
  { command: 'deleteClient', username: externalId },
  { command: 'deleteRole', rolename: roleOf(externalId) },
];

/** The goal is already reached. The plugin has no error codes, only these texts. */
const isSoAlready = ({ command, error }: Answer): boolean =>
  (command === 'createRole' && error === 'Role already exists') ||
  (command === 'deleteClient' && error === 'Client not found') ||
  (command === 'deleteRole' && error === 'Role not found');

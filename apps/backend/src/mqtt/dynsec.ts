import { connectAsync, type MqttClient } from 'mqtt';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { deviceTopic, deviceTopicEnds, stationTopicEnds } from '@station/protocol/topics';

/** A login that a device was given. */
export type DeviceLogin = { externalId: string; token: string };

/**
 * Logins and rights of devices at a Mosquitto with its dynamic-security plugin, which is told by messages to `$CONTROL/dynamic-security/v1`
 * (mosquitto.org, "Dynamic Security Plugin").
 */
export type Dynsec = {
  /**
   * Gives the backend its own rights.
   * @param attempts how often it asks a broker that does not answer: one that has much to do answers late.
   * @returns false when the broker has no such plugin: then someone else keeps the logins.
   */
  prepare(attempts: number, signal: AbortSignal): Promise<boolean>;
  /** Adds or renews logins, each with the right to its own topics alone. @throws (rejects) when the broker refuses. */
  add(logins: readonly DeviceLogin[]): Promise<void>;
  /** Takes a login back; its connection is ended by the broker. One that is not there is no failure. */
  remove(externalId: string): Promise<void>;
  /** User names that there are. */
  list(): Promise<Set<string>>;
};

export type DynsecOptions = {
  url: string;
  username: string;
  password: string;
  /** As {@link BrokerClientOptions}. */
  authority: string | null;
  stationId: string;
  /** How long the broker may take to answer. */
  answerMs?: number;
};

type Command = { command: string } & Record<string, unknown>;
type Answer = { command: string; error?: string; data?: Record<string, unknown> };

const controlTopic = '$CONTROL/dynamic-security/v1';
const answerTopic = `${controlTopic}/response`;
const answerWithinMs = 5_000;
const connectMs = 5_000;
const backendRole = 'station-backend';
/** So many devices in one message, well within what a broker takes. */
const chunk = 50;

export function createDynsec(options: DynsecOptions): Dynsec {
  const { stationId, username } = options;
  const { run } = createExclusiveRunner();
  const ask = (commands: readonly Command[]): Promise<Answer[]> => run(() => askBroker(options, commands));
  /** Fails when one did, but for those that say it is so already. */
  const tell = async (commands: readonly Command[]): Promise<void> => {
    const failed = (await ask(commands)).filter((answer) => answer.error !== undefined && !isSoAlready(answer));
    if (failed[0]) throw new Error(`The broker refuses ${failed[0].command}: ${failed[0].error}`);
  };
  const hasRole = async (): Promise<boolean> => {
    const [answer] = await ask([{ command: 'getClient', username }]);
    const client = answer?.data?.['client'] as { roles?: { rolename: string }[] } | undefined;
    return client?.roles?.some(({ rolename }) => rolename === backendRole) ?? false;
  };
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
      await tell([
        // What is not granted is refused, reading too: a client that takes over another's session learns nothing by it.
        { command: 'setDefaultACLAccess', acls: closedByDefault },
        { command: 'createRole', rolename: backendRole },
        { command: 'modifyRole', rolename: backendRole, acls: allTopics },
      ]);
      // Whoever's rights change is disconnected, here the one who asks; so its answer may be lost.
      const granting = ask([{ command: 'addClientRole', username, rolename: backendRole }]);
      await granting.catch(() => undefined);
      if (!(await hasRole())) throw new Error('The broker does not grant the backend its rights');
      return true;
    },
    add: async (logins) => {
      for (let from = 0; from < logins.length; from += chunk) {
        await tell(logins.slice(from, from + chunk).flatMap((login) => addingOf(stationId, login)));
      }
    },
    remove: (externalId) => tell(removingOf(externalId)),
    list: async () => {
      const [answer] = await ask([{ command: 'listClients', verbose: false, count: -1, offset: 0 }]);
      const names = answer?.data?.['clients'];
      return new Set(Array.isArray(names) ? names.map(String) : []);
    },
  };
}

const roleOf = (externalId: string): string => `device-${externalId}`;
const allow = (acltype: string, topic: string) => ({ acltype, topic, priority: 0, allow: true });
const allTopics = ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((type) =>
  allow(type, 'station/#'),
);
const closedByDefault = ['publishClientSend', 'publishClientReceive', 'subscribe'].map((acltype) => ({
  acltype,
  allow: false,
}));

/** Made anew, so that nothing of what was there before remains. */
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

/** What is to be made is there, what is to go is not. The plugin has no codes, only these words. */
const isSoAlready = ({ command, error }: Answer): boolean =>
  (command === 'createRole' && error === 'Role already exists') ||
  (command === 'deleteClient' && error === 'Client not found') ||
  (command === 'deleteRole' && error === 'Role not found');

class NoAnswer extends Error {}

/** Over a connection of its own: it is needed seldom, and the other one is for devices. */
async function askBroker(
  { url, username, password, authority, answerMs = answerWithinMs }: DynsecOptions,
  commands: readonly Command[],
): Promise<Answer[]> {
  const trust = authority === null ? {} : { ca: authority };
  const options = { username, password, reconnectPeriod: 0, connectTimeout: connectMs, ...trust };
  const client = await connectAsync(url, options, false);
  try {
    const answer = nextAnswer(client, answerMs);
    const asking = async (): Promise<Answer[]> => {
      await client.subscribeAsync(answerTopic, { qos: 1 });
      await client.publishAsync(controlTopic, JSON.stringify({ commands }), { qos: 1 });
      return answer;
    };
    // When the connection ends, what waits for the broker is never settled.
    return await Promise.race([asking(), answer]);
  } finally {
    await client.endAsync(true);
  }
}

function nextAnswer(client: MqttClient, answerMs: number): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new NoAnswer('The broker does not keep logins')), answerMs);
    const end = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    client.once('error', end);
    client.once('close', () => end(new Error('The broker ended the connection')));
    client.on('message', (_topic, payload) => {
      clearTimeout(timer);
      try {
        resolve((JSON.parse(payload.toString('utf8')) as { responses: Answer[] }).responses);
      } catch (error) {
        reject(new Error('The broker answered in another form', { cause: error }));
      }
    });
  });
}

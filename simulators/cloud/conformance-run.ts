import { argon2, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect, ErrorWithReasonCode } from 'mqtt';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { findOnlineDevice, conformanceChecks, type Check, type Home, type KnownPasswords } from './conformance.ts';
import type { ReferenceCloud } from './reference-cloud.ts';

export type ConformanceTarget = {
  /** URL of the station's REST interface. */
  home: string;
  /** Login of an account that may see the members. */
  email: string;
  password: string;
  /** URL of the station's broker and the login of a device there; null: messages to devices are not checked. */
  device: { mqtt: string; stationId: string; externalId: string; token: string } | null;
  /** Time limit until the station is ready for the checks. */
  timeoutMs: number;
};

/** The waits of a check have shorter limits, but the answer to a call has none. */
const checkLimitMs = 120_000;
const requestLimitMs = 60_000;
/** A transfer of the ownership by the cloud ends the logins of the former owner, also one that was made at that moment. */
const maxLogins = 3;

/**
 * Runs the checks one after another against the station that is or will be connected.
 * @param parts.checks default: all.
 * @param parts.checkMs time limit of a check.
 * @param parts.onReset called before the last check, which expects an unclaimed station: the station must not be
 * claimed again.
 * @returns true when everything was checked and passed.
 */
export async function runConformance(parts: {
  cloud: ReferenceCloud;
  target: ConformanceTarget;
  checks?: Check[];
  checkMs?: number;
  onReset(): void;
  print(line: string): void;
}): Promise<boolean> {
  const { cloud, target, checkMs = checkLimitMs, print } = parts;
  await using opened = new AsyncDisposableStack();
  print('Waiting for the link, an online device and the account …');
  const home = await homeWhenReady(cloud, target, opened);
  if (typeof home === 'string') {
    print(`failed  ${home}`);
    return false;
  }
  let isPassed = true;
  for (const check of parts.checks ?? conformanceChecks(await knownPasswords())) {
    if (check.name === 'station_reset') parts.onReset();
    try {
      await Promise.race([check.run({ cloud, home }), timeOut(checkMs)]);
      const isPartial = check.usesDevice === true && target.device === null;
      if (isPartial) isPassed = false;
      print(isPartial ? `in part ${check.name}: messages to devices were not checked` : `ok      ${check.name}`);
    } catch (error) {
      isPassed = false;
      print(`failed  ${check.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  for (const { text } of cloud.invalidFrames)
    print(`failed  A frame is not part of the protocol: ${text.slice(0, 200)}`);
  return isPassed && cloud.invalidFrames.length === 0;
}

async function timeOut(limitMs: number): Promise<never> {
  await sleep(limitMs, undefined, { ref: false });
  throw new Error('The station did not answer.');
}

/**
 * @param opened takes the resources to dispose, also when the station is not ready in time.
 * @returns a sentence that says what is missing, when it is not ready in time.
 */
async function homeWhenReady(
  cloud: ReferenceCloud,
  target: ConformanceTarget,
  opened: AsyncDisposableStack,
): Promise<Home | string> {
  const deadline = performance.now() + target.timeoutMs;
  const beforeDeadline = <T>(promise: Promise<T>): Promise<T | null> =>
    Promise.race([promise, sleep(Math.max(1, deadline - performance.now()), null, { ref: false })]);
  /** Retries, because the station connects before its other parts are ready. */
  const eventually = async <T>(attempt: () => Promise<T>): Promise<T | null> => {
    for (;;) {
      const result = await beforeDeadline(attempt().catch(() => null));
      if (result !== null || performance.now() > deadline) return result;
      await sleep(200);
    }
  };

  if ((await beforeDeadline(cloud.connection())) === null) return 'No station has logged in.';
  let deviceHome: DeviceHome | null = null;
  if (target.device !== null) {
    const device = await beforeDeadline(connectDevice(target.device, opened).catch(String));
    if (device === null) return 'The broker does not answer the device.';
    if (typeof device === 'string') return `The device of the login cannot connect: ${device}`;
    deviceHome = device;
  }
  const home: Home = { ...homeOverRest(target), deviceCommands: () => null, ...deviceHome };
  const online = await eventually(async () => findOnlineDevice(await cloud.connection(), home));
  if (online === null) return 'No device is online.';
  const isLoginValid = await eventually(() => home.canLogIn(target.email, target.password));
  if (isLoginValid === null) return `${target.home} does not answer.`;
  return isLoginValid ? home : `The account cannot log in at ${target.home}.`;
}

type DeviceHome = Pick<Home, 'device' | 'deviceCommands' | 'publishEvent'>;

/** Connects as an online device and waits for the broker. @throws (rejects) when the broker refuses the login. */
async function connectDevice(
  { mqtt, stationId, externalId, token }: NonNullable<ConformanceTarget['device']>,
  opened: AsyncDisposableStack,
): Promise<DeviceHome> {
  const client = connect(mqtt, { username: externalId, password: token });
  opened.defer(() => client.endAsync(true));
  const commands: { action: string }[] = [];
  client.on('message', (_topic, payload) => commands.push(readCommand(payload.toString())));
  await new Promise((resolve, reject) => {
    client.once('connect', resolve);
    client.on('error', (error) => error instanceof ErrorWithReasonCode && reject(error));
  });
  const topic = (end: DeviceTopicEnd | 'command'): string => deviceTopic(stationId, externalId, end);
  const publish = (end: DeviceTopicEnd, body: unknown) =>
    client.publishAsync(topic(end), JSON.stringify(body), { qos: 1 });
  await client.subscribeAsync(topic('command'), { qos: 1 });
  await publish('heartbeat', { status: 'online' });
  return {
    device: externalId,
    deviceCommands: () => Promise.resolve(commands),
    publishEvent: async (data) => void (await publish('event', { event: 'device_event', data })),
  };
}

/** A station under development may send anything. An invalid command becomes one that no check expects. */
function readCommand(text: string): { action: string } {
  try {
    const command = JSON.parse(text) as { action?: unknown } | null;
    return { action: String(command?.action) };
  } catch {
    return { action: text };
  }
}

function homeOverRest(target: ConformanceTarget): Pick<Home, 'stationName' | 'members' | 'canLogIn'> {
  const request = (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${target.home}${path}`, { ...init, signal: AbortSignal.timeout(requestLimitMs) });
  /** @returns null when the password is refused; other refusals do not concern the password. */
  const logIn = async (email: string, password: string): Promise<string | null> => {
    const headers = { 'content-type': 'application/json' };
    const response = await request('/api/auth/login', {
      method: 'POST',
      headers,
      body: JSON.stringify({ email, password }),
    });
    if (response.status === 401) return null;
    if (!response.ok) throw new Error(`The login has the response status ${response.status}`);
    return ((await response.json()) as { accessToken: string }).accessToken;
  };
  let token: string | null = null;
  const get = async (path: string): Promise<unknown> => {
    for (let logins = 0; ; logins += 1) {
      const response = await request(path, { headers: { authorization: `Bearer ${token ?? ''}` } });
      if (response.ok) return response.json();
      if (response.status !== 401 || logins === maxLogins) {
        throw new Error(`${path} has the response status ${response.status}`);
      }
      token = await logIn(target.email, target.password);
    }
  };
  return {
    stationName: async () => ((await get('/api/station')) as { name: string }).name,
    members: async () => (await get('/api/station/members')) as { email: string; name: string; role: string }[],
    canLogIn: async (email, password) => (await logIn(email, password)) !== null,
  };
}

async function knownPasswords(): Promise<KnownPasswords> {
  const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  const derive = promisify(argon2);
  const hash = async (message: string): Promise<string> => {
    const nonce = randomBytes(16);
    const tag = await derive('argon2id', { message, nonce, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 });
    return `$argon2id$v=19$m=19456,t=2,p=1$${unpadded(nonce)}$${unpadded(tag)}`;
  };
  const passwords = ['from the cloud 1', 'from the cloud 2'];
  return Promise.all(passwords.map(async (password) => ({ password, hash: await hash(password) })));
}

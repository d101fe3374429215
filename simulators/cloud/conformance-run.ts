import { argon2, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect, ErrorWithReasonCode } from 'mqtt';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { aDevice, conformanceChecks, type Check, type Home, type KnownPasswords } from './conformance.ts';
import type { ReferenceCloud } from './reference-cloud.ts';

export type ConformanceTarget = {
  /** URL of the station's REST interface. */
  home: string;
  /** Of an account that may see the members. */
  email: string;
  password: string;
  /** URL of the station's broker and the login of a device there; null: what devices see is not looked at. */
  device: { mqtt: string; stationId: string; externalId: string; token: string } | null;
  /** How long the station may take until it can be looked at. */
  timeoutMs: number;
};

/** What each check waits for has a limit of its own, far below this one; an answer to a call has none. */
const checkLimitMs = 120_000;
const requestLimitMs = 20_000;

/**
 * All checks, one after another, against the station that is or will be connected.
 * @param parts.checks all of them when left out.
 * @param parts.checkMs after which a check has failed, whatever it waits for.
 * @param parts.onReset the last check waits until the station connects unclaimed; it must stay unclaimed from here on.
 * @returns true when everything was looked at, and is in order.
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
  print('Waiting for the link, for a device that is online, and for the account at home …');
  const home = await homeWhenReady(cloud, target, opened);
  if (typeof home === 'string') {
    print(`failed  ${home}`);
    return false;
  }
  let isGood = true;
  for (const check of parts.checks ?? conformanceChecks(await knownPasswords())) {
    if (check.name === 'station_reset') parts.onReset();
    try {
      await Promise.race([check.run({ cloud, home }), tooLong(checkMs)]);
      const isPartial = check.looksAtDevice === true && target.device === null;
      if (isPartial) isGood = false;
      print(isPartial ? `in part ${check.name}: what a device sees was not looked at` : `ok      ${check.name}`);
    } catch (error) {
      isGood = false;
      print(`failed  ${check.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  for (const { text } of cloud.misfits) print(`failed  A frame that is none of the protocol: ${text.slice(0, 200)}`);
  return isGood && cloud.misfits.length === 0;
}

async function tooLong(limitMs: number): Promise<never> {
  await sleep(limitMs, undefined, { ref: false });
  throw new Error('The station did not answer.');
}

/**
 * @param opened takes what has to be ended, also when the station was not ready in time.
 * @returns what is missing, as a sentence, when it is not ready in time.
 */
async function homeWhenReady(
  cloud: ReferenceCloud,
  target: ConformanceTarget,
  opened: AsyncDisposableStack,
): Promise<Home | string> {
  const deadline = performance.now() + target.timeoutMs;
  const inTime = <T>(coming: Promise<T>): Promise<T | null> =>
    Promise.race([coming, sleep(Math.max(1, deadline - performance.now()), null, { ref: false })]);
  /** The station is on the link a little before the rest of it is there. */
  const eventually = async <T>(attempt: () => Promise<T>): Promise<T | null> => {
    for (;;) {
      const result = await inTime(attempt().catch(() => null));
      if (result !== null || performance.now() > deadline) return result;
      await sleep(200);
    }
  };

  if ((await inTime(cloud.connection())) === null) return 'No station has logged in.';
  let seen: DeviceHome | null = null;
  if (target.device !== null) {
    const device = await inTime(listen(target.device, opened).catch(String));
    if (device === null) return 'The broker does not answer the device.';
    if (typeof device === 'string') return `The device of the login cannot connect: ${device}`;
    seen = device;
  }
  const home: Home = { ...homeOverRest(target), deviceCommands: () => null, ...seen };
  const online = await eventually(async () => aDevice(await cloud.connection(), home));
  if (online === null) return 'No device is online.';
  const isKnown = await eventually(() => home.canLogIn(target.email, target.password));
  if (isKnown === null) return `${target.home} does not answer.`;
  return isKnown ? home : `The account cannot log in at ${target.home}.`;
}

type DeviceHome = Pick<Home, 'device' | 'deviceCommands' | 'deviceSays'>;

/** A device that is online from here on. @throws (rejects) when the broker refuses it; one that is not there yet is waited for. */
async function listen(
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
  const say = (end: DeviceTopicEnd, body: unknown) => client.publishAsync(topic(end), JSON.stringify(body), { qos: 1 });
  await client.subscribeAsync(topic('command'), { qos: 1 });
  await say('heartbeat', { status: 'online' });
  return {
    device: externalId,
    deviceCommands: () => Promise.resolve(commands),
    deviceSays: async (data) => void (await say('event', { event: 'device_event', data })),
  };
}

/** A station under development may send anything; an invalid command becomes one that no check expects. */
function readCommand(text: string): { action: string } {
  try {
    const command = JSON.parse(text) as { action?: unknown } | null;
    return { action: String(command?.action) };
  } catch {
    return { action: text };
  }
}

function homeOverRest(target: ConformanceTarget): Pick<Home, 'stationName' | 'members' | 'canLogIn'> {
  const ask = (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${target.home}${path}`, { ...init, signal: AbortSignal.timeout(requestLimitMs) });
  /** @returns null when the password is refused; other refusals do not concern the password. */
  const logIn = async (email: string, password: string): Promise<string | null> => {
    const headers = { 'content-type': 'application/json' };
    const response = await ask('/api/auth/login', {
      method: 'POST',
      headers,
      body: JSON.stringify({ email, password }),
    });
    if (response.status === 401) return null;
    if (!response.ok) throw new Error(`The log-in is answered with status ${response.status}`);
    return ((await response.json()) as { accessToken: string }).accessToken;
  };
  let token: string | null = null;
  const get = async (path: string): Promise<unknown> => {
    const attempt = () => ask(path, { headers: { authorization: `Bearer ${token ?? ''}` } });
    let response = await attempt();
    // The cloud transfers the ownership: the former owner logs in again.
    if (response.status === 401) {
      token = await logIn(target.email, target.password);
      response = await attempt();
    }
    if (!response.ok) throw new Error(`${path} is answered with status ${response.status}`);
    return response.json();
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

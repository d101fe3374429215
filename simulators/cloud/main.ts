/** The reference cloud as a program: README.md beside this. */
import { argon2, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { conformanceChecks, type Home, type KnownPasswords } from './conformance.ts';
import { startReferenceCloud, type ReferenceCloud } from './reference-cloud.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9000' },
    host: { type: 'string', default: '127.0.0.1' },
    key: { type: 'string' },
    cert: { type: 'string' },
    'by-hand': { type: 'boolean', default: false },
    conformance: { type: 'boolean', default: false },
    home: { type: 'string', default: 'http://127.0.0.1:3000' },
    email: { type: 'string', default: '' },
    password: { type: 'string', default: '' },
  },
});

const tls =
  values.key !== undefined && values.cert !== undefined
    ? { key: await readFile(values.key, 'utf8'), cert: await readFile(values.cert, 'utf8') }
    : undefined;
await using cloud = await startReferenceCloud({
  host: values.host,
  port: Number(values.port),
  ...(tls ? { tls } : {}),
});
console.log(`Set CLOUD_HOST=${cloud.host} at the station.`);
const tokens: string[] = [];
const claimAll = (): void => {
  for (const { chipId, claimSecret } of cloud.waiting()) {
    const token = cloud.claim(chipId, claimSecret);
    if (token !== null) tokens.push(token);
    console.log(`claimed ${chipId}`);
  }
};
// By hand somebody looks at the code of the station first.
const claiming = values['by-hand'] ? undefined : setInterval(claimAll, 200);

if (values.conformance) process.exitCode = await runChecks(cloud);
else await converse(cloud);
clearInterval(claiming);

async function runChecks(of: ReferenceCloud): Promise<number> {
  await of.connection();
  const home = homeOverRest();
  console.log('Waiting for the account at home, and for a device that is online …');
  while (!(await isReady(of, home))) await sleep(500);
  let failed = 0;
  for (const check of conformanceChecks(await knownPasswords())) {
    // The last one waits for the station to knock unclaimed: nobody may claim it meanwhile.
    if (check.name === 'station_reset') clearInterval(claiming);
    try {
      await check.run({ cloud: of, home });
      console.log(`ok      ${check.name}`);
    } catch (error) {
      failed += 1;
      console.log(`failed  ${check.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed === 0 ? 0 : 1;
}

async function isReady(of: ReferenceCloud, home: Home): Promise<boolean> {
  try {
    const { devices } = (await (await of.connection()).call('devices.snapshot')) as { devices: { status: string }[] };
    return devices.some(({ status }) => status === 'online') && (await home.canLogIn(values.email, values.password));
  } catch {
    return false;
  }
}

function homeOverRest(): Home {
  const logIn = async (email: string, password: string): Promise<string | null> => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ email, password });
    const response = await fetch(`${values.home}/api/auth/login`, { method: 'POST', headers, body });
    return response.ok ? ((await response.json()) as { accessToken: string }).accessToken : null;
  };
  const get = async (path: string): Promise<unknown> => {
    const authorization = `Bearer ${(await logIn(values.email, values.password)) ?? ''}`;
    const response = await fetch(`${values.home}${path}`, { headers: { authorization } });
    if (!response.ok) throw new Error(`${path} is answered with status ${response.status}`);
    return response.json();
  };
  return {
    stationName: async () => ((await get('/api/station')) as { name: string }).name,
    members: async () => (await get('/api/station/members')) as { email: string; name: string; role: string }[],
    canLogIn: async (email, password) => (await logIn(email, password)) !== null,
    deviceCommands: () => null,
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

/** Prints what is heard, and sends what is typed. */
async function converse(to: ReferenceCloud): Promise<void> {
  let [heard, states] = [0, 0];
  const telling = setInterval(() => {
    for (; heard < to.heard.length; heard++) console.log(JSON.stringify(to.heard[heard]));
    for (; states < to.states.length; states++) console.log(JSON.stringify(to.states[states]));
  }, 200);
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      await obey(to, line.trim());
    } catch (error) {
      console.log(error instanceof Error ? error.message : String(error));
    }
  }
  // Without anyone at the keyboard it goes on until it is ended.
  if (!process.stdin.isTTY) for (;;) await sleep(60_000);
  clearInterval(telling);
}

async function obey({ connection, options, revoke, restore }: ReferenceCloud, line: string): Promise<void> {
  const [, word = '', first = '', rest = ''] = /^(\S*)\s*(\S*)\s*(.*)$/.exec(line) ?? [];
  const isOn = first !== 'off';
  switch (word) {
    case 'claim':
      return claimAll();
    case 'call': {
      const params: unknown = rest === '' ? undefined : JSON.parse(rest);
      return console.log(JSON.stringify(await (await connection()).call(first, params)));
    }
    case 'send':
      return (await connection()).sendText(`${first} ${rest}`.trim());
    case 'cut':
      return (await connection()).cut();
    case 'stall':
      return (await connection()).stall();
    case 'close':
      return (await connection()).close(Number(first));
    case 'mute':
      options.isMute = isOn;
      return;
    case 'acks':
      options.acks = isOn;
      return;
    case 'revoke':
      return tokens.forEach(revoke);
    case 'restore':
      return tokens.forEach(restore);
    default:
      console.log('claim, call, send, cut, stall, close, mute on|off, acks on|off, revoke, restore');
  }
}

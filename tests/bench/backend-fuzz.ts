// npm run bench -- backend-fuzz [--count N] [--seed N] [--postgres]
// Mutated MQTT messages of devices and of gateways, REST requests and WebSocket frames against a backend in its own process. Required: no crash, no answer with an
// internal error, no message without an answer, a correct device served all the time, and memory that does not grow with the inputs.
// Altered backups: each is refused in words. Odd states and events whose effect a model predicts: REST must show exactly that.
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { connectDevice } from '@station/backend/testing/test-device';
import { install, owner, stationId, type Installation } from '../e2e/backend/installation.ts';
import { createPostgres } from '../rig/postgres.ts';
import { waitFor } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';
import { imageFlags } from './load/station-backend.ts';
import { fuzzBackups } from './fuzz/backup-fuzz.ts';
import { createFindings } from './fuzz/findings.ts';
import { addGateways, fuzzGateway } from './fuzz/gateway-fuzz.ts';
import { fuzzMqtt } from './fuzz/mqtt-fuzz.ts';
import { fuzzRest, type Caller } from './fuzz/rest-fuzz.ts';
import { fuzzSocket } from './fuzz/socket-fuzz.ts';
import { fuzzStates, modelDevices } from './fuzz/state-fuzz.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    postgres: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const seed = Number(values.seed);
const rounds = 5;
/** Altered backups in each round; each takes longer than a hundred messages. */
const backupsEach = 6;
/** The first ones send messages; requests may rename, command and remove the others. */
const talking = 24;
const modelled = 12;
const devices = 300;
/**
 * How much more may be alive after the last round than half-way, and how much more memory the process may have then, bytes;
 * both after all garbage was collected. The second also sees what is not V8's; two password checks may be among it, 19 MiB each.
 */
const mostGrowth = { alive: 2 * 1024 * 1024, process: 48 * 1024 * 1024 };
const heap = '--max-old-space-size=100';
const preload = join(import.meta.dirname, 'fuzz/live-memory.ts');
const agentToken = 'the-token-of-the-agent-of-the-fuzz-bench';

process.stderr.write(`--count ${count} --seed ${seed}\n`);
await using workspace = await createWorkspace();
const database = values.postgres ? { DATABASE_URL: (await createPostgres(workspace)).url } : {};
const aliveFile = join(workspace.folder, 'alive');
const watched = {
  NODE_OPTIONS: `${heap} --expose-gc --import ${pathToFileURL(preload).href}`,
  LIVE_MEMORY_FILE: aliveFile,
};
const env = { AGENT_TOKEN: agentToken, LOG_LEVEL: 'info', ...watched, ...imageFlags().malloc, ...database };
await using station = await install('the embedded broker and SQLite', { devices, env });
await station.startBackend();
const findings = createFindings();
const [goodLogin, deviceLogin, ...logins] = station.logins.slice(0, talking);
if (!goodLogin || !deviceLogin) throw new Error('There are no devices');

type Memory = { alive: number; process: number };
type Device = { id: string; externalId: string; state: Record<string, unknown> };
const people = await makePeople(station);
// One page holds all of them, as long as their states are empty.
const rows = await get<Device[]>(station, '/api/devices');
const idOf = new Map(rows.map(({ externalId, id }) => [externalId, id]));
const others = station.logins.slice(talking + modelled);
const ids = others.flatMap(({ externalId }) => idOf.get(externalId) ?? []);
const goodId = idOf.get(goodLogin.externalId) ?? '';
const models = modelDevices(
  station.logins
    .slice(talking, talking + modelled)
    .map((login) => ({ ...login, id: idOf.get(login.externalId) ?? '' })),
);
const gateways = await addGateways(station.url, await people.ownerToken());
const memory: Memory[] = [];
for (let round = 0; round < rounds; round++) {
  const part = { seed: seed + round * count, findings };
  const started = performance.now();
  const share = (of: number): number => Math.ceil((count * of) / rounds);
  await fuzzMqtt({ ...part, url: station.mqttUrl, stationId, logins, count: share(0.3) });
  await checkGoodDevice(round, 'MQTT');
  const { ownerToken: token } = people;
  const { url, mqttUrl } = station;
  await fuzzStates({ ...part, url, mqttUrl, stationId, devices: models, token, count: share(0.1) });
  await checkGoodDevice(round, 'states');
  for (const gateway of gateways)
    await fuzzGateway({ ...part, url: mqttUrl, gateway, count: share(0.1 / gateways.length) });
  await checkGoodDevice(round, 'a gateway');
  await fuzzRest({ ...part, url: station.url, callers: people.callers, ids, count: share(0.3) });
  await checkGoodDevice(round, 'REST');
  await fuzzSocket({ ...part, url: station.url, token: people.ownerToken, count: share(0.2) });
  await checkGoodDevice(round, '/ws');
  const folder = join(workspace.folder, 'backups');
  if (!values.postgres) await fuzzBackups({ ...part, count: backupsEach, folder, dataDir: station.dataDir });
  const now = await memoryOf(station.pid());
  memory.push(now);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const memoryText = `${megabytes(now.alive)} MB alive of ${megabytes(now.process)} MB`;
  process.stderr.write(`round ${round + 1} of ${rounds}: ${findings.inputs()} inputs, ${seconds} s, ${memoryText}\n`);
}
await judgeLog(station);
const grown = (part: keyof Memory): number =>
  (memory.at(-1)?.[part] ?? 0) - (memory[Math.floor(rounds / 2)]?.[part] ?? 0);
for (const part of ['alive', 'process'] as const) {
  if (grown(part) <= mostGrowth[part]) continue;
  findings.fault(`memory grows with the inputs (${part})`, memory.map((one) => megabytes(one[part])).join(' '));
}

const faults = findings.faults();
for (const { what, times, inputs } of faults) process.stderr.write(`${times} × ${what}\n  ${inputs.join('\n  ')}\n`);
const ok = faults.length === 0 && findings.inputs() >= count;
const result = {
  bench: 'backend-fuzz',
  value: findings.inputs(),
  unit: 'inputs',
  ratio: faults.length / count,
  goal: 0,
  ok,
};
const kind = { seed, database: values.postgres ? 'postgres' : 'sqlite' };
const grownMb = { alive: megabytes(grown('alive')), process: megabytes(grown('process')) };
process.stdout.write(`${JSON.stringify({ ...result, ...kind, grownMb })}\n`);
process.exitCode = ok ? 0 : 1;

/** The handshake of a correct device is answered and its states are stored, whatever was sent before. */
async function checkGoodDevice(round: number, after: string): Promise<void> {
  try {
    const { externalId, token } = goodLogin ?? {};
    const login = { stationId, id: goodId, externalId: externalId ?? '', token: token ?? '' };
    await using device = await connectDevice(station.mqttUrl, login, { clientId: `good-${round}` });
    await device.publish('handshake', { type: goodLogin?.type, firmwareVersion: '1.0.0', chip: 'good' });
    await waitFor('the answer to its handshake', () => device.received.some(({ body }) => body['status'] === 'ok'));
    const mark = `${round} ${after}`;
    await device.publish('state', { state: { mark } });
    const { state } = await get<Device>(station, `/api/devices/${goodId}`);
    if (state['mark'] !== mark) findings.fault('the good device is not stored', `after ${mark}`);
  } catch (error) {
    findings.fault(`the good device is not served: ${String(error)}`, `round ${round} after ${after}`);
  }
}

async function get<T>({ url }: Installation, path: string): Promise<T> {
  const headers = { authorization: `Bearer ${await people.ownerToken()}` };
  const response = await fetch(`${url}${path}`, { headers });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as T;
}

/** One user of each role; users that an input removed or locked out are created again. */
async function makePeople({ url, logIn }: Installation) {
  await logIn();
  let calls = 0;
  const json = async (path: string, body: object, token?: string): Promise<{ accessToken?: string }> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    // From an address of its own each: the log-ins that are sent to fail soon shut out the one they come from.
    const from = { 'x-forwarded-for': `10.0.${Math.floor(++calls / 250)}.${calls % 250}` };
    const headers = { 'content-type': 'application/json', ...from, ...authorization };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as { accessToken?: string };
  };
  const tokenOf = async (email: string, password: string): Promise<string | null> =>
    (await json('/api/auth/login', { email, password })).accessToken ?? null;
  /** An input may have ended all sessions of the owner. */
  const isValid = async (token: string): Promise<boolean> =>
    (await fetch(`${url}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } })).ok;
  let kept: { token: string; atMs: number } | null = null;
  const ownerToken = async (): Promise<string> => {
    if (kept !== null && performance.now() - kept.atMs < 60_000 && (await isValid(kept.token))) return kept.token;
    const token = await tokenOf(owner.email, owner.password);
    if (token === null) throw new Error('The owner cannot log in any more');
    kept = { token, atMs: performance.now() };
    return token;
  };
  let made = 0;
  const tokenOfRole = async (role: string): Promise<string> => {
    const person = { email: `${role}-${++made}@example.org`, password: 'a long enough password', name: role };
    await json('/api/station/members', { ...person, role }, await ownerToken());
    const token = await tokenOf(person.email, person.password);
    if (token === null) throw new Error(`Someone of the role ${role} cannot log in`);
    return token;
  };
  const callers = async (): Promise<Caller[]> => {
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    return [
      { name: 'nobody', headers: {} },
      { name: 'owner', headers: bearer(await ownerToken()) },
      { name: 'admin', headers: bearer(await tokenOfRole('admin')) },
      { name: 'member', headers: bearer(await tokenOfRole('member')) },
      { name: 'agent', headers: bearer(agentToken) },
      { name: 'device', headers: { 'x-device-token': deviceLogin?.token ?? '' } },
    ];
  };
  return { ownerToken, callers };
}

/** Bytes after all garbage was collected: what the program holds, and all that the process has of its own. */
async function memoryOf(pid: number): Promise<Memory> {
  await rm(aliveFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  await waitFor('the garbage to be collected', () => existsSync(aliveFile));
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const anonymous = Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? Infinity) * 1024;
  return { alive: Number(await readFile(aliveFile, 'utf8')), process: anonymous };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 102.4) / 10;
}

/** A crash shows in the exit; an unexpected error shows in the log. */
async function judgeLog({ logged }: Installation): Promise<void> {
  for (const event of ['not a log line', 'unexpected_error', 'request_failed', 'database_damaged']) {
    for (const line of await logged(event)) findings.fault(`log: ${event}`, JSON.stringify(line));
  }
  if ((await logged('backend_started')).length !== 1) findings.fault('the backend was started more than once', '');
}

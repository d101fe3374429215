/**
 * `npm run bench -- cloud-fuzz [--count N] [--seed N]`
 *
 * Sends hostile frames from a cloud over a real WebSocket: half of them before the station is authenticated, half
 * after. No frame may crash the station. No frame may have an effect before the login. At the end the link must still
 * answer.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WebSocketServer, type WebSocket } from 'ws';
import { createRandom } from '../faults/choice.ts';
import { mutateDocument, mutateText } from '../faults/mutate.ts';
import { benchStation, type BenchStation, type StationActions } from './cloud/bench-station.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const count = Number(values.count);
const random = createRandom(Number(values.seed));
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
const faults: string[] = [];
const fault = (text: string): void => void (faults.length < 50 && faults.push(text.slice(0, 300)));

type Answer = { id?: unknown; error?: { code: number; message: string }; result?: unknown };

/** A cloud that sends the given frames and checks the answers. */
async function hostileCloud() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const state = {
    socket: null as WebSocket | null,
    acceptsLogin: false,
    connections: 0,
    answers: 0,
    last: null as Answer | null,
  };
  const checkAnswer = (answer: Answer): void => {
    state.answers += 1;
    state.last = answer;
    if (answer.error?.code === -32603) fault(`internal error: ${JSON.stringify(answer)}`);
    if (!state.acceptsLogin && answer.result !== undefined)
      fault(`answered before the login: ${JSON.stringify(answer)}`);
  };
  server.on('connection', (socket) => {
    state.connections += 1;
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const frame = JSON.parse((data as Buffer).toString('utf8')) as Answer & { type?: string };
      if (frame.type === 'station_auth') {
        if (state.acceptsLogin) socket.send('{"type":"auth_ok","acks":true}');
        state.socket = socket;
      } else for (const answer of [frame].flat()) checkAnswer(answer);
    });
  });
  const connected = async (): Promise<WebSocket> => {
    for (let wait = 0; wait < 2_000; wait++) {
      if (state.socket?.readyState === state.socket?.OPEN && state.socket !== null) return state.socket;
      await sleep(5);
    }
    throw new Error('The station does not reconnect');
  };
  return { port: (server.address() as AddressInfo).port, state, connected, close: () => server.close() };
}

const seeds = (deviceId: string): unknown[] => [
  { jsonrpc: '2.0', id: 1, method: 'device.command', params: { deviceId, command: { action: 'reboot' } } },
  { jsonrpc: '2.0', id: 'a', method: 'device.command', params: { deviceId, command: { action: 'reboot', x: 1 } } },
  { jsonrpc: '2.0', id: 2, method: 'devices.snapshot' },
  { jsonrpc: '2.0', id: 3, method: 'device_types.list', params: {} },
  { jsonrpc: '2.0', id: 4, method: 'station.setActiveChannels', params: { channels: ['state', 'events'] } },
  { jsonrpc: '2.0', method: 'device.command', params: { deviceId, command: { action: 'factory_reset' } } },
  { jsonrpc: '2.0', id: 9, result: { anything: 1 } },
  { jsonrpc: '2.0', id: 9, error: { code: -1, message: 'no' } },
  { type: 'ack', seq: 1 },
  { type: 'claim_success', stationToken: 'another token that is long enough' },
  {
    type: 'identity_sync',
    station: { name: 'Fuzzed' },
    ownerId: 'o',
    members: [{ cloudUserId: 'o', email: 'o@example.org', name: 'O', role: 'owner' }],
  },
  { type: 'station_renamed', name: 'Fuzzed' },
  { type: 'member_added', member: { cloudUserId: 'm', email: 'm@example.org', name: 'M', role: 'admin' } },
  { type: 'member_updated', member: { cloudUserId: 'm', email: 'm@example.org', name: 'M', role: 'member' } },
  { type: 'member_removed', cloudUserId: 'm' },
  {
    type: 'station_password_changed',
    cloudUserId: 'm',
    stationPasswordHash: '$argon2id$v=19$m=9999999,t=99,p=9$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA',
  },
  { type: 'station_reset' },
];

function hostileText(documents: readonly unknown[]): string {
  const kind = random();
  const document = pick(documents);
  if (kind < 0.45) return mutateDocument(document, random);
  if (kind < 0.7) return mutateText(JSON.stringify(document), random);
  if (kind < 0.8) return JSON.stringify(Array.from({ length: Math.floor(random() * 120) }, () => pick(documents)));
  if (kind < 0.85)
    return JSON.stringify(document).replace(
      /"id":[^,}]+/,
      `"id":${pick(['1e999', '{}', '[]', 'true', '-0', '"__proto__"', '9007199254740993'])}`,
    );
  if (kind < 0.9) return JSON.stringify(document).replace(/"(deviceId|type|method|action|name)"/, '"__proto__"');
  if (kind < 0.93) {
    const depth = pick([10, 1_000, 20_000]);
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    return pick([
      deep,
      `{"jsonrpc":"2.0","id":5,"method":"device.command","params":${deep}}`,
      JSON.stringify(documents[0]).replace('"reboot"', `"reboot","x":${deep}`),
    ]);
  }
  return pick([
    '',
    '{}',
    '[]',
    'null',
    '{"jsonrpc":"2.0"}',
    '{"type":"__proto__"}',
    '{"type":"constructor"}',
    '\u0000',
    '"'.repeat(99),
    `"${'x'.repeat(60_000)}"`,
  ]);
}

/** Valid frames that accept or reject the login, or that reset an authenticated station, are not hostile. */
function isHostile(text: string, letsIn: boolean): boolean {
  try {
    const { type } = (JSON.parse(text) ?? {}) as { type?: unknown };
    return type !== 'auth_ok' && type !== 'auth_error' && !(letsIn && type === 'station_reset');
  } catch {
    return true;
  }
}

async function effects({ store }: BenchStation): Promise<string> {
  const tables = [
    'users',
    'station',
    'station_members',
    'devices',
    'cloud_config',
    'cloud_commands',
    'cloud_outbox',
  ] as const;
  const all = await Promise.all(tables.map((table) => store.db.selectFrom(table).selectAll().execute()));
  return JSON.stringify(all);
}

async function flood(
  cloud: Awaited<ReturnType<typeof hostileCloud>>,
  documents: readonly unknown[],
  frames: number,
): Promise<void> {
  for (let sent = 0; sent < frames;) {
    const socket = await cloud.connected();
    for (let burst = 0; burst < 200 && sent < frames; burst++) {
      const text = hostileText(documents);
      if (!isHostile(text, cloud.state.acceptsLogin)) continue;
      sent += 1;
      if (random() < 0.01) socket.send(Buffer.from(text), { binary: true });
      else socket.send(text);
    }
    // Rarely, a frame that ends the connection: too large, or not UTF-8.
    if (random() < 0.02)
      socket.send(pick<string | Buffer>(['x'.repeat(1_048_577), Buffer.from([0xff, 0xfe, 0xfd])]), { binary: false });
    while (socket.bufferedAmount > 0 && socket.readyState === socket.OPEN) await sleep(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function measure(folder: string): Promise<boolean> {
  await using station = await benchStation(folder, (line) => fault(`the station logged ${line}`));
  const { id } = await station.devices.provision({ externalId: 'd', type: 'light', name: 'Lamp', zoneId: null });
  let commands = 0;
  const reconnect = { nextMs: () => 5, stable: () => undefined };
  const cloud = await hostileCloud();
  const at = 1_760_000_000_000;
  const send: StationActions['commands']['send'] = async ({ deviceId, action }) => {
    commands += 1;
    return {
      kind: 'accepted',
      command: { commandId: 'c', deviceId, action, status: 'pending', reason: null, userId: null, at },
    };
  };
  // Both belong to a reset. A reset is hostile before the login, and never sent after it.
  const publish = async (): Promise<void> => fault('something was published for a reset');
  const onReset = (): void => fault('the station was reset');
  await station.link(cloud.port, { reconnect }, { commands: { send }, publish, onReset });
  const documents = seeds(id);
  const before = await effects(station);
  await flood(cloud, documents, count / 2);
  await sleep(300);
  if ((await effects(station)) !== before) fault('a frame had an effect before the login');
  if (commands > 0) fault(`${commands} commands before the login`);
  const refused = cloud.state.answers;
  cloud.state.acceptsLogin = true;
  (await cloud.connected()).close();
  await sleep(100);
  await flood(cloud, documents, count / 2);
  let answers = false;
  for (let attempt = 0; attempt < 200 && !answers; attempt++) {
    (await cloud.connected()).send('{"jsonrpc":"2.0","id":"the end","method":"devices.snapshot"}');
    await sleep(50);
    const { last } = cloud.state;
    answers = last?.id === 'the end' && (last.result as { devices: unknown[] }).devices.length === 1;
  }
  if (!answers) fault('the link does not answer at the end');
  cloud.close();
  for (const text of faults) process.stderr.write(`${text}\n`);
  const ok = faults.length === 0;
  const counts = {
    answersBefore: refused,
    answersAfter: cloud.state.answers - refused,
    commandsAfter: commands,
    connections: cloud.state.connections,
  };
  const result = { bench: 'cloud-fuzz', value: count, unit: 'frames', ratio: faults.length, goal: 0, ok, ...counts };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok;
}

process.on('unhandledRejection', (error) => fault(`unhandled rejection: ${String(error)}`));
const folder = await mkdtemp(join(tmpdir(), 'station-cloud-fuzz-'));
try {
  process.exitCode = (await measure(folder)) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit();

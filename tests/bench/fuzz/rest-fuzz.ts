import { Agent, request, type IncomingMessage } from 'node:http';
import { errorCodes } from '@station/protocol/errors';
import { createRandom } from '../../faults/choice.ts';
import { mutateDocument, mutateText, toBytes, type Random } from '../../faults/mutate.ts';
import { runTrials, type Findings } from './findings.ts';
import { pick } from './pick.ts';
import { exampleOf, readOperations, type Operation } from './seeds.ts';

/** Headers that make a caller: of each role, of a device, of the agent, of nobody. */
export type Caller = { name: string; headers: Record<string, string> };

const answerMs = 20_000;
const width = 24;
const nobody = '01890000-0000-7000-8000-000000000000';
const oddSegments = [
  '%00',
  '%ff',
  '..',
  '%2e%2e',
  '%2F',
  'x'.repeat(300),
  '',
  ' ',
  '%F0%9D%92%B3',
  '__proto__',
  '*',
  '-1',
];
const oddTypes = ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'application/xml', '', 'x'];

export type RestFuzz = { url: string; callers: () => Promise<Caller[]>; ids: readonly string[]; findings: Findings };

/** Mutated requests to everything that the backend says it answers, by callers of every kind. */
export async function fuzzRest(options: RestFuzz & { count: number; seed: number }): Promise<void> {
  const { url, ids, count, seed, findings } = options;
  const operations = await readOperations(url);
  let callers = await options.callers();
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: width }), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  await runTrials(count, width, async (index) => {
    const random = createRandom(seed + index);
    // Somebody may have been logged out, removed or given another password by what was sent.
    if (index % 2_000 === 1_999) callers = await options.callers();
    const sent = requestOf(pick(random, operations), pick(random, callers), [...ids, nobody], random);
    const fault = await send(url, agent, sent).catch((error: unknown) => `no answer: ${String(error)}`);
    if (fault !== null) findings.fault(`REST: ${fault}`, JSON.stringify({ ...sent, body: sent.body?.toString() }));
    findings.done();
  });
}

type Sent = { method: string; path: string; headers: Record<string, string>; body: Buffer | null };

function requestOf(operation: Operation, caller: Caller, ids: readonly string[], random: Random): Sent {
  const method =
    random() < 0.95 ? operation.method : pick(random, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
  const body = operation.body === null ? null : bodyOf(exampleOf(operation.body, random, ids), random);
  const isOdd = random() < 0.1;
  const given = body ?? (random() < 0.05 ? Buffer.from('{}') : null);
  const type = isOdd ? pick(random, oddTypes) : 'application/json';
  const headers = {
    ...caller.headers,
    ...(given === null ? {} : { 'content-type': type }),
    ...(random() < 0.1 ? oddHeaders(caller, random) : {}),
  };
  return { method, path: `${pathOf(operation, ids, random)}${queryOf(operation, ids, random)}`, headers, body: given };
}

function bodyOf(example: unknown, random: Random): Buffer {
  const kind = random();
  if (kind < 0.001) return Buffer.alloc(300_000, ' ');
  if (kind < 0.01) return Buffer.from('['.repeat(50_000));
  if (kind < 0.2) return Buffer.from(JSON.stringify(example));
  return Buffer.from(toBytes(mutateDocument(example, random), random));
}

function pathOf({ path }: Operation, ids: readonly string[], random: Random): string {
  const whole = path.replace(/\{[^}]+\}/g, () =>
    random() < 0.8 ? pick(random, ids) : encodeURIComponent(wellFormed(mutateText(pick(random, ids), random))),
  );
  if (random() < 0.9) return whole;
  const segments = whole.split('/');
  segments[1 + Math.floor(random() * (segments.length - 1))] = pick(random, oddSegments).replaceAll(' ', '%20');
  return segments.join('/');
}

function queryOf({ query }: Operation, ids: readonly string[], random: Random): string {
  const given = query.flatMap(({ name, schema }) => {
    const value = String(exampleOf(schema, random, ids));
    return random() < 0.7 ? [[name, random() < 0.5 ? value : mutateText(value, random)]] : [];
  });
  if (random() < 0.05) given.push(['unknown', '1'], ['a[b]', 'c']);
  const text = given.map(([name = '', value = '']) => `${name}=${encodeURIComponent(wellFormed(value))}`).join('&');
  return text === '' ? '' : `?${random() < 0.05 ? text.replaceAll('%', '%%') : text}`;
}

/** A header holds no control characters and nothing above one byte; what is sent otherwise is no HTTP. */
const inHeader = (text: string): string => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '');
const wellFormed = (text: string): string => text.toWellFormed();

function oddHeaders({ headers }: Caller, random: Random): Record<string, string> {
  const { authorization = 'Bearer x' } = headers;
  return pick(random, [
    { authorization: inHeader(mutateText(authorization, random)) },
    { authorization: `Bearer ${'x'.repeat(8_000)}` },
    { cookie: inHeader(mutateText('station_refresh=abc; other=1', random)) },
    { origin: pick(random, ['null', 'http://evil.example', 'x']) },
    { 'x-forwarded-for': inHeader(mutateText('10.0.0.1, 203.0.113.9', random)) },
    { 'x-device-token': inHeader(mutateText('x'.repeat(43), random)) },
    { accept: 'text/html', 'accept-encoding': 'br;q=x', range: 'bytes=9-1', 'if-none-match': '"x' },
    { expect: '100-continue' },
  ]);
}

/** @returns what is wrong with the answer; null: nothing. */
async function send(url: string, agent: Agent, { method, path, headers, body }: Sent): Promise<string | null> {
  const { hostname, port } = new URL(url);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ agent, hostname, port, method, path, headers, timeout: answerMs }, resolve);
    outgoing.on('error', reject);
    outgoing.on('timeout', () => outgoing.destroy(new Error('it took too long')));
    outgoing.end(body ?? undefined);
  });
  if (String(answer.headers['content-type']).startsWith('text/event-stream')) {
    answer.destroy();
    return answer.statusCode === 200 ? null : `${answer.statusCode} with a stream`;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return faultOf(path, answer.statusCode ?? 0, Buffer.concat(chunks).toString('utf8'));
}

function faultOf(path: string, statusCode: number, text: string): string | null {
  if (statusCode < 400) return null;
  const body = readObject(text);
  const code = body?.['code'];
  const isKnown = typeof code === 'string' && Object.hasOwn(errorCodes, code);
  if (!isKnown || body?.['statusCode'] !== statusCode)
    return `${statusCode} without an error body: ${text.slice(0, 100)}`;
  if (/node_modules|file:\/\/|\n\s+at |\/home\/|\.ts:\d/.test(text)) return `${statusCode} reveals the host: ${code}`;
  // There is no agent and no radio here, so agent_unreachable and unavailable are expected.
  const isExpected =
    (statusCode === 502 && path.startsWith('/api/system/')) ||
    (statusCode === 503 && path.endsWith('/provisioning/add'));
  return statusCode < 500 || isExpected ? null : `${statusCode} ${code}`;
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

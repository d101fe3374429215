// npm run bench -- portal-probes [--rounds N]
// Sends every platform's probe over its own TCP connection and judges the answer as that platform does. The same
// requests to a minimal server show the machine's own share of the time.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { envToConfig } from '@station/agent/config';
import { createSimulatedWatchdog, startPortal } from '@station/agent/testing/running-portal';
import { percentile, round } from './load/statistics.ts';
import { probes, type Probe } from './portal/probes.ts';
import type { ProbeAnswer, Verdict } from './portal/deciders.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' } } });
const rounds = Number(values.rounds);
const goalMs = 50;
/** A phone sends several at the same time. */
const atOnce = 4;

/** The address to which probes resolve on a station with default settings. */
function usualAddress(): string {
  const reading = envToConfig(
    {
      STATION_ID: '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01',
      UPDATE_SERVER_URL: 'https://releases.example/manifest.json',
      FIRMWARE_MANIFEST_URL: 'https://releases.example/firmware.json',
    },
    { homeDirectory: '/root', pid: 1, hostname: 'station' },
  );
  if (reading.kind !== 'ok') throw new Error(`The configuration is not valid: ${reading.problems.join(', ')}`);
  return reading.config.wifi.hotspot.address;
}

type Raw = Pick<ProbeAnswer, 'status' | 'headers' | 'body'>;

/** Sends a request and reads until the end of its answer. */
async function exchange(port: number, request: string): Promise<Raw> {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  socket.end(request, 'latin1');
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  });
  return { status: Number(statusLine.split(' ')[1]), headers: new Map(headers), body: rest.join('\r\n\r\n') };
}

const requestOf = ({ host, path, headers }: Probe): string =>
  ['GET ' + path + ' HTTP/1.1', `Host: ${host}`, ...headers, '', ''].join('\r\n');

/** Requests the redirect's target as a platform that follows redirects does. */
async function follow(answer: Raw, { headers }: Probe): Promise<ProbeAnswer['followed']> {
  const target = URL.parse(answer.headers.get('location') ?? '');
  if (target === null) return null;
  const lines = [`GET ${target.pathname} HTTP/1.1`, `Host: ${target.host}`, ...headers, '', ''];
  return exchange(Number(target.port), lines.join('\r\n'));
}

async function timed(port: number, list: readonly Probe[]): Promise<{ probe: Probe; answer: Raw; ms: number }[]> {
  const done: { probe: Probe; answer: Raw; ms: number }[] = [];
  const left = [...list];
  const work = async (): Promise<void> => {
    for (let probe = left.shift(); probe !== undefined; probe = left.shift()) {
      const started = performance.now();
      const answer = await exchange(port, requestOf(probe));
      done.push({ probe, answer, ms: performance.now() - started });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return done;
}

async function main(): Promise<boolean> {
  const watchdog = createSimulatedWatchdog();
  await using portal = await startPortal(watchdog.actions);
  const plain = createServer((_, response) => {
    response.writeHead(302, { Location: 'http://127.0.0.1/', Connection: 'close' });
    response.end('<a href="http://127.0.0.1/">Go on</a>');
  });
  plain.listen(0, '127.0.0.1');
  await once(plain, 'listening');
  const plainPort = (plain.address() as AddressInfo).port;
  const resolvedTo = usualAddress();

  const verdicts: Record<Verdict, number> = { portal: 0, online: 0, broken: 0 };
  const answers = new Set<string>();
  for (const { probe, answer } of await timed(portal.port, probes)) {
    const verdict = probe.decide({ ...answer, resolvedTo, followed: await follow(answer, probe) });
    verdicts[verdict] += 1;
    answers.add(`${answer.status} ${answer.headers.get('location')} ${answer.body}`);
    if (verdict !== 'portal') process.stderr.write(`${probe.platform}: ${probe.host}${probe.path}: ${verdict}\n`);
  }
  const seenByProbes =
    watchdog.state.seen - probes.filter(({ headers }) => headers.some((one) => /text\/html/.test(one))).length;

  const ours: number[] = [];
  const others: number[] = [];
  for (let count = 0; count < rounds; count += 1) {
    // The two servers take turns, so that other load on the machine affects both.
    for (const { ms } of await timed(plainPort, probes)) others.push(ms);
    for (const { ms } of await timed(portal.port, probes)) ours.push(ms);
  }
  plain.close();
  const p99 = percentile(ours, 99);
  const ok =
    verdicts.portal === probes.length &&
    probes.length >= 25 &&
    answers.size === 1 &&
    seenByProbes === 0 &&
    p99 <= goalMs;
  const result = {
    bench: 'portal-probes',
    value: round(p99),
    unit: 'ms (p99)',
    ratio: round(p99 / percentile(others, 99)),
    goal: goalMs,
    ok,
    p50: round(percentile(ours, 50)),
    probes: probes.length,
    verdicts,
    differentAnswers: answers.size,
    requests: ours.length,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok;
}

process.exitCode = (await main()) ? 0 : 1;

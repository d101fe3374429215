import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createLogger, createRedactor } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { LogLine, LogQuery } from '@station/protocol/agent-machine';
import { events } from '@station/protocol/events';
import type { ServiceOperator } from '../core/operator-ports.ts';
import { createOpenLog } from './follow-log.ts';

type Follow = ServiceOperator['followLog'];

/** Time passes at once. */
const clock = { ...systemClock, sleep: async () => new Promise<void>((resolve) => setImmediate(resolve)) };

const at = (second: number): string => `2026-03-01T12:00:${String(second).padStart(2, '0')}.000000000Z`;

function createLog(options: { agentLines?: string[]; services?: Readonly<Record<string, Follow>> }) {
  const services: Readonly<Record<string, Follow>> = options.services ?? {};
  const logger = createLogger({ catalogue: events, clock, level: 'info', secrets: [], write: () => undefined });
  const open = createOpenLog({
    operator: { followLog: (service, ...rest) => services[service]?.(service, ...rest) ?? Promise.resolve() },
    services: async () => Object.keys(services),
    agentLines: async () => options.agentLines ?? [],
    logger,
    clock,
    redact: createRedactor(['KPWM2345XY']),
  });
  /** Follows until a line is the last that is waited for. */
  const readUntil = async (query: LogQuery, isLast: (line: LogLine, all: readonly LogLine[]) => boolean) => {
    const ending = new AbortController();
    const lines: LogLine[] = [];
    const follow = await open(query);
    await follow((line) => {
      if (ending.signal.aborted) return;
      lines.push(line);
      if (isLast(line, lines)) ending.abort();
    }, ending.signal);
    return lines;
  };
  return { logger, open, readUntil };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

describe('the live log', () => {
  it('of a service goes on after its restart, and repeats nothing', async () => {
    const asked: (number | null)[] = [];
    const backend: Follow = async (_service, { since }, onLine, signal) => {
      asked.push(since);
      await onLine({ time: at(1), text: 'up' });
      if (asked.length === 1) return;
      // Asked since a time, the engine repeats what it had at that time.
      await onLine({ time: at(2), text: 'up again' });
      await untilAborted(signal);
    };
    const { readUntil } = createLog({ services: { backend } });
    const lines = await readUntil({ service: 'backend' }, ({ text }) => text === 'up again');
    assert.deepEqual(
      lines.map(({ service, text }) => `${service} ${text}`),
      ['backend up', 'backend up again'],
    );
    assert.deepEqual(asked, [null, Date.parse(at(1))]);
  });

  it('of all services has that of the agent, too', async () => {
    const say =
      (text: string): Follow =>
      async (_service, _options, onLine, signal) => {
        await onLine({ time: at(1), text });
        await untilAborted(signal);
      };
    const agentLines = ['no JSON', JSON.stringify({ time: '2026-03-01T12:00:00.000Z', event: 'agent_ready' })];
    const { readUntil } = createLog({ agentLines, services: { backend: say('b'), proxy: say('p') } });
    const lines = await readUntil({}, (_line, all) => all.length === 3);
    assert.deepEqual(lines.map(({ service }) => service).sort(), ['agent', 'backend', 'proxy']);
  });

  it('of the agent has each event once, at whatever moment it comes', async () => {
    const before = { time: '2026-03-01T12:00:00.000Z', level: 'info', event: 'agent_ready', addresses: [] };
    const { logger, open } = createLog({ agentLines: [JSON.stringify(before)] });
    const ending = new AbortController();
    const texts: string[] = [];
    const following = (await open({ service: 'agent' }))((line) => void texts.push(line.text), ending.signal);
    logger.event('config_warning', { problem: 'while the last lines are read' });
    for (let turn = 0; turn < 5; turn += 1) await clock.sleep();
    logger.event('config_warning', { problem: 'live' });
    ending.abort();
    await following;
    assert.deepEqual(
      texts.map((text) => {
        const { event, problem } = JSON.parse(text) as { event: string; problem?: string };
        return problem ?? event;
      }),
      ['agent_ready', 'while the last lines are read', 'live'],
    );
  });

  it('shows no secret of the agent', async () => {
    const proxy: Follow = async (_service, _options, onLine) => onLine({ time: at(1), text: 'psk=KPWM2345XY' });
    const { readUntil } = createLog({ services: { proxy } });
    const [line] = await readUntil({ service: 'proxy' }, () => true);
    assert.equal(line?.text, 'psk=[redacted]');
  });

  it('says once when a log cannot be read, and tries again', async () => {
    let tries = 0;
    const backend: Follow = async (_service, _options, onLine, signal) => {
      tries += 1;
      if (tries < 4) throw new StationError('unavailable', 'the engine has no log');
      await onLine({ time: at(59), text: 'there' });
      await untilAborted(signal);
    };
    const { readUntil } = createLog({ services: { backend } });
    const lines = await readUntil({ service: 'backend' }, ({ text }) => text === 'there');
    assert.deepEqual(
      lines.map(({ text }) => text),
      ['the engine has no log', 'there'],
    );
  });

  it('waits for a reader that is slow', async () => {
    let given = 0;
    const backend: Follow = async (_service, _options, onLine, signal) => {
      while (!signal.aborted) {
        given += 1;
        await onLine({ time: at(given), text: String(given) });
      }
    };
    const { open } = createLog({ services: { backend } });
    const ending = new AbortController();
    const turn = Promise.withResolvers<void>();
    const following = (await open({ service: 'backend' }))(() => turn.promise, ending.signal);
    for (let count = 0; count < 20; count += 1) await clock.sleep();
    assert.equal(given, 1);
    ending.abort();
    turn.resolve();
    await following;
  });

  it('of an unknown service is refused', async () => {
    const { open } = createLog({});
    await assert.rejects(open({ service: 'nobody' }), { code: 'not_found' });
  });
});

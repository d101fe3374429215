import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { HistoryEntry } from '@station/protocol/agent-api';
import { events } from '@station/protocol/events';
import type { StartAnswer } from '../core/stack-port.ts';
import { createAskedOperation } from './asked-operation.ts';
import type { Journal } from './journal.ts';
import type { Change } from './operation-decide.ts';

/** An update server that answers when the test says so, and a clock that stands until then. */
function createScene({ isLoaded = true, kind = 'update' }: { isLoaded?: boolean; kind?: 'update' | 'rollback' } = {}) {
  const noted: HistoryEntry[] = [];
  const changes: (string | null)[] = [];
  const sleeping = Promise.withResolvers<void>();
  const clock: Clock = {
    now: () => Date.parse('2026-01-01T00:00:00Z'),
    monotonic: () => 0,
    sleep: (_, signal) => {
      signal?.addEventListener('abort', () => sleeping.reject(signal.reason as Error));
      return sleeping.promise;
    },
  };
  const log: string[] = [];
  const write = (line: string): void => void log.push(line);
  const asked = createAskedOperation({
    logger: createLogger({ catalogue: events, clock, level: 'info', secrets: [], write }),
    clock,
    newId: () => 'promised',
    runner: createExclusiveRunner(),
    keeper: {
      isLoaded: () => isLoaded,
      journal: () => ({ installed: { version: '1.0.0' } }) as Journal,
      record: async (change: Change) => void (change.kind === 'note' && noted.push(change.entry)),
    },
  });
  asked.onChange(() => changes.push(asked.operation()?.phase ?? null));
  const answer = Promise.withResolvers<StartAnswer>();
  let promised = '';
  const begun = asked.begin({ kind, version: '1.1.0' }, (id) => {
    promised = id;
    return answer.promise;
  });
  const late = async (): Promise<Extract<StartAnswer, { kind: 'started' }>> => {
    sleeping.resolve();
    const started = await begun;
    assert.ok(started.kind === 'started');
    return started;
  };
  return { asked, answer, begun, late, noted, changes, log, promised: () => promised };
}

it('passes on an answer that comes in time', async () => {
  const { asked, answer, begun, noted, changes } = createScene();
  const refused: StartAnswer = { kind: 'refused', code: 'version_invalid', message: 'No.' };
  answer.resolve(refused);
  assert.deepEqual(await begun, refused);
  assert.deepEqual([asked.operation(), noted, changes], [null, [], []]);
});

it('answers late questions with an operation that looks for the release, and goes on with that one', async () => {
  const { asked, answer, late, noted, changes, promised } = createScene();
  const started = await late();
  assert.equal(started.operationId, promised());
  const { id, kind, phase, version } = asked.operation() ?? {};
  assert.deepEqual([id, kind, phase, version], ['promised', 'update', 'preparing', '1.1.0']);
  const entry = { id: 'promised' } as HistoryEntry;
  answer.resolve({ kind: 'started', operationId: 'promised', ended: Promise.resolve(entry) });
  assert.equal(await started.ended, entry);
  assert.deepEqual([asked.operation(), noted, changes], [null, [], ['preparing', null]]);
});

it('writes into the history what else came of it', async () => {
  const ends: [StartAnswer | Error, string, RegExp][] = [
    [{ kind: 'refused', code: 'manifest_unavailable', message: 'No answer.' }, 'manifest_unavailable', /No answer/],
    [{ kind: 'already_current', version: '1.1.0' }, 'already_current', /^1\.1\.0 runs already\.$/],
    [new StationError('disk_space_low', 'The disk is full.'), 'disk_space_low', /^The disk is full\.$/],
  ];
  for (const [end, code, reason] of ends) {
    const { asked, answer, late, noted } = createScene();
    const started = await late();
    if (end instanceof Error) answer.reject(end);
    else answer.resolve(end);
    const entry = await started.ended;
    assert.deepEqual(noted, [entry]);
    assert.deepEqual(
      [entry?.id, entry?.result, entry?.from, entry?.to, entry?.code],
      ['promised', 'failed', '1.0.0', '1.1.0', code],
    );
    assert.match(entry?.reason ?? '', reason);
    assert.equal(asked.operation(), null);
  }
});

it('tells the log, and not the history, what nobody expected: a path of the machine may be in it', async () => {
  const { answer, late, noted, log } = createScene();
  const started = await late();
  answer.reject(new Error("ENOENT: no such file or directory, open '/var/lib/station-agent/journal.json'"));
  await started.ended;
  assert.deepEqual([noted[0]?.code, noted[0]?.reason?.includes('/')], ['internal', false]);
  assert.match(log.join(''), /unexpected_error.*journal\.json/);
});

it('answers who asks for a rollback while a check of the update server is under way', async () => {
  const { asked, answer, late, noted } = createScene({ kind: 'rollback' });
  const started = await late();
  assert.deepEqual([asked.operation()?.kind, asked.operation()?.phase], ['rollback', 'preparing']);
  answer.resolve({ kind: 'refused', code: 'nothing_to_roll_back', message: 'There is none.' });
  await started.ended;
  assert.deepEqual([noted[0]?.kind, noted[0]?.code], ['rollback', 'nothing_to_roll_back']);
});

it('waits for the answer while the journal has not been read: its result could not be written', async () => {
  const { asked, answer, begun, noted } = createScene({ isLoaded: false });
  const refused: StartAnswer = { kind: 'refused', code: 'unavailable', message: 'The agent is still starting.' };
  setImmediate(() => answer.resolve(refused));
  assert.deepEqual(await begun, refused);
  assert.deepEqual([asked.operation(), noted], [null, []]);
});

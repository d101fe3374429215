import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConnectAndWrite, writeResultWithinMs } from '@station/protocol/ble-frames';
import { createDeviceEvents } from '../core/device-events.ts';
import { alwaysLeader } from '../core/leadership.ts';
import { playedHelper } from '../../testing/played-helper.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement } from '../../testing/remote-helper.ts';
import { seeded } from '../../testing/seeded.ts';
import { settled, steppedClock, type SteppedClock } from '../../testing/stepped-clock.ts';
import type { WriteOutcome } from './ble-helper.ts';
import { type Radio, startRadio } from './radio.ts';
import type { PausedBy } from './scan-decide.ts';

const rounds = process.env['STATION_SWEEP'] === undefined ? 300 : 10_000;
const writesARound = 4;

type Pick = <T>(items: readonly T[]) => T;

/** How a helper treats one write. */
const manners = ['ok', 'fails', 'an unknown error', 'silent', 'late', 'dies', 'twice', 'of another', 'slow'] as const;
/** A helper that does not become ready within 10 s is killed. */
const starts = ['at once', 'at once', 'at once', 'after seconds', 'never'] as const;

type World = { radio: Radio; clock: SteppedClock; paused: { by: PausedBy | null }; written: string[]; log: string[] };

async function startWorld(pick: Pick, random: () => number): Promise<World> {
  const clock = steppedClock();
  const logger = recordedLog();
  const paused: { by: PausedBy | null } = { by: null };
  const written: string[] = [];
  const later = (ms: number, work: () => void): void => {
    clock.sleep(ms).then(work, () => undefined);
  };
  const helper = playedHelper((command) => {
    if (command.event === 'connect_and_write') answer(command);
  });
  const answer = ({ address, payload }: ConnectAndWrite): void => {
    written.push(payload);
    const result = (ok: boolean, error?: string, of = address): void =>
      helper.send({ event: 'write_result', address: of, ok, ...(error === undefined ? {} : { error }) });
    const life = helper.starts();
    const inThisLife = (work: () => void) => () => (helper.starts() === life ? work() : undefined);
    const treat: Record<(typeof manners)[number], () => void> = {
      ok: () =>
        later(
          pick([0, 50, 8_000]),
          inThisLife(() => result(true)),
        ),
      fails: () =>
        later(
          3_000,
          inThisLife(() => result(false, 'not_found')),
        ),
      'an unknown error': () =>
        later(
          10,
          inThisLife(() => result(false, 'no such code')),
        ),
      silent: () => undefined,
      late: () => later(writeResultWithinMs + 1_000, () => result(true)),
      dies: () => later(pick([0, 1_000, 44_000]), inThisLife(helper.die)),
      twice: () =>
        later(
          10,
          inThisLife(() => [result(true), result(false, 'write_failed')]),
        ),
      'of another': () =>
        later(
          10,
          inThisLife(() => result(true, undefined, 'C0:FF:EE:00:00:99')),
        ),
      slow: () =>
        later(
          writeResultWithinMs - 1_000,
          inThisLife(() => result(true)),
        ),
    };
    treat[pick(manners)]();
  };
  const start: typeof helper.start = (listener) => {
    const process = helper.start(listener);
    const life = helper.starts();
    const ready = (): void => (helper.starts() === life ? helper.send({ event: 'ready' }) : undefined);
    const how = pick(starts);
    if (how === 'at once') later(0, ready);
    if (how === 'after seconds') later(5_000, ready);
    return process;
  };
  const radio = await startRadio({
    serviceUuid: advertisement().service_uuids[0]!,
    startProcess: start,
    askForPause: async () => paused.by,
    watchers: { isWatched: () => false, subscribe: () => ({ [Symbol.dispose]: () => undefined }) },
    leadership: alwaysLeader,
    hub: { replay: () => ({ [Symbol.dispose]: () => undefined }) },
    events: createDeviceEvents(logger),
    devices: { list: async () => [] },
    types: { find: () => undefined },
    clock,
    random,
    logger,
  });
  return { radio, clock, paused, written, log: logger.lines };
}

type Tried = {
  payload: string;
  starts: number[];
  results: { outcome: WriteOutcome; atMs: number }[];
  abortedAtMs: number | null;
};

function tryWrite({ radio, clock }: World, payload: string, pick: Pick): Tried {
  const tried: Tried = { payload, starts: [], results: [], abortedAtMs: null };
  const giving = new AbortController();
  const abort = (): void => {
    tried.abortedAtMs = clock.monotonic();
    giving.abort();
  };
  const abortAfterMs = pick([null, null, 0, 1, 4_000, 60_000]);
  const service = advertisement().service_uuids[0]!;
  const command = { address: 'C0:FF:EE:00:00:01', service_uuid: service, characteristic_uuid: service, payload };
  if (abortAfterMs === 0) abort();
  radio
    .write(command, { onStart: () => tried.starts.push(clock.monotonic()), signal: giving.signal })
    .then((outcome) => tried.results.push({ outcome, atMs: clock.monotonic() }), assert.fail);
  if (abortAfterMs !== null && abortAfterMs > 0) clock.sleep(abortAfterMs).then(abort, () => undefined);
  return tried;
}

test(`exactly one result for each of ${rounds * writesARound} writes, whatever the helper does`, async () => {
  const seed = 20_260_302;
  const random = seeded(seed);
  const pick: Pick = (items) => items[Math.floor(random() * items.length)] as (typeof items)[number];
  const ends = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const world = await startWorld(pick, random);
    const { radio, clock, paused, written, log } = world;
    const all: Tried[] = [];
    for (let count = 0; count < writesARound; count++) {
      all.push(tryWrite(world, `secret-${round}-${count}`, pick));
      paused.by = pick([null, null, null, 'joining']);
      await clock.advance(pick([0, 100, 6_000, 30_000]));
    }
    paused.by = null;
    await clock.advance(pick([0, 1_000, 600_000]));
    const endedAtMs = clock.monotonic();
    await radio[Symbol.asyncDispose]();
    await settled();
    for (const tried of all) {
      const trace = `seed ${seed}, round ${round}: ${JSON.stringify(tried)}`;
      assert.equal(tried.results.length, 1, trace);
      assert.ok(tried.starts.length <= 1, trace);
      assert.equal(written.filter((payload) => payload === tried.payload).length, tried.starts.length, trace);
      const [{ outcome, atMs }] = tried.results as [Tried['results'][number]];
      const [startedAtMs] = tried.starts;
      if (startedAtMs !== undefined) assert.ok(atMs - startedAtMs <= writeResultWithinMs, trace);
      if (startedAtMs === undefined && tried.abortedAtMs !== null && tried.abortedAtMs < endedAtMs) {
        assert.ok(outcome.ok === false && ['stopping', 'helper_failed'].includes(outcome.error), trace);
        assert.ok(atMs <= tried.abortedAtMs, `given up at once; ${trace}`);
      }
      const end = outcome.ok ? 'ok' : outcome.error;
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    assert.ok(!log.some((line) => line.includes('secret-')), 'what is written is not logged');
  }
  const reached = ['helper_failed', 'not_found', 'ok', 'stopping', 'timed_out', 'write_failed'];
  assert.deepEqual([...ends.keys()].sort(), reached, JSON.stringify([...ends]));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerMessage } from '@station/protocol/socket';
import type { Discovered } from '@station/protocol/ble-frames';
import { createDeviceEvents } from '../core/device-events.ts';
import { createLeadership } from '../core/leadership.ts';
import { wholeStation } from '../core/sight.ts';
import { watchersOf } from '../core/watchers.ts';
import { createSocketHub, type HubClient } from '../socket/hub.ts';
import { playedHelper } from '../../testing/played-helper.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement } from '../../testing/remote-helper.ts';
import { seeded } from '../../testing/seeded.ts';
import { settled, steppedClock } from '../../testing/stepped-clock.ts';
import { startRadio } from './radio.ts';
import type { PausedBy } from './scan-decide.ts';

/** `npm run sweep -- fuzz` runs more. */
const rounds = process.env['STATION_SWEEP'] === undefined ? 1_000 : 50_000;
const stepsARound = 6;

/** What a client would show. */
type View = HubClient & { shown: Map<string, string> };

function createView(number: number): View {
  const shown = new Map<string, string>();
  return {
    shown,
    userId: `user ${number}`,
    sessionId: `session ${number}`,
    sight: wholeStation,
    close: () => undefined,
    send: (batch) => {
      for (const { text } of batch.messages) {
        const message = JSON.parse(text) as ServerMessage;
        if (message.type === 'provisioning_candidate') {
          shown.set(message.candidate.address, JSON.stringify(message.candidate));
        } else if (message.type === 'provisioning_candidate_lost') shown.delete(message.address);
      }
    },
  };
}

async function startWorld(random: () => number) {
  const clock = steppedClock();
  const logger = recordedLog();
  const hub = createSocketHub(clock);
  const events = createDeviceEvents(logger);
  events.subscribe((event) => {
    if (event.kind === 'message') hub.broadcast(event.message, event.key);
  });
  const leadership = createLeadership();
  leadership.set(1);
  const helper = playedHelper();
  const world = { clock, hub, leadership, helper, pausedBy: null as PausedBy | null, views: [] as View[], count: 0 };
  const radio = await startRadio({
    serviceUuid: advertisement().service_uuids[0]!,
    startProcess: helper.start,
    askForPause: async () => world.pausedBy,
    watchers: watchersOf(hub),
    leadership,
    hub,
    events,
    devices: { list: async () => [] },
    types: { find: () => undefined },
    clock,
    random,
    logger,
  });
  return {
    ...world,
    radio,
    set: (pausedBy: PausedBy | null) => (world.pausedBy = pausedBy),
    paused: () => world.pausedBy,
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

function randomAdvertisement(pick: <T>(items: readonly T[]) => T): Discovered {
  return advertisement({
    address: `C0:FF:EE:00:00:0${pick([1, 2, 3, 4, 5])}`,
    name: pick(['SH_light_1', 'SH_light_2', 'pir-7', '']),
    rssi: pick([-40, -60, -80, 127]),
    service_uuids: pick([advertisement().service_uuids, advertisement().service_uuids, []]),
  });
}

const steps: Record<string, (world: World, pick: <T>(items: readonly T[]) => T) => void | Promise<void>> = {
  connect: ({ hub, views }) => {
    if (views.length > 4) return;
    const view = createView(views.length);
    views.push(view);
    hub.add(view);
  },
  leave: ({ hub, views }, pick) => {
    if (views.length === 0) return;
    const view = pick(views);
    views.splice(views.indexOf(view), 1);
    hub.remove(view);
  },
  'all leave': ({ hub, views }) => {
    for (const view of views.splice(0)) hub.remove(view);
  },
  discover: async ({ helper, views }, pick) => {
    const frame = randomAdvertisement(pick);
    helper.send(frame);
    await settled();
    if (!helper.isTold()) return;
    const isWaiting = frame.service_uuids.length > 0;
    for (const { shown } of views) assert.equal(shown.has(frame.address), isWaiting, 'a device is not told at once');
  },
  'discover again': ({ helper }, pick) => {
    for (let count = 0; count < 5; count++) helper.send(randomAdvertisement(pick));
  },
  'the helper starts': async ({ clock, helper }) => {
    for (let second = 0; second < 31 && !helper.isRunning(); second++) await clock.advance(1_000);
    helper.send({ event: 'ready' });
  },
  ready: ({ helper }) => helper.send({ event: 'ready' }),
  'scan started': ({ helper }) => helper.send({ event: 'scan_started' }),
  'scan stopped': ({ helper }) => helper.send({ event: 'scan_stopped' }),
  'a bad line': ({ helper }, pick) =>
    helper.sendText(pick(['', '{', 'null', '{"event":"discovered"}', '[]', '\u0000'])),
  'a note': ({ helper }, pick) =>
    helper.note(JSON.stringify({ note: 'radio', state: pick(['ready', 'adapter_missing', 'adapter_off']) })),
  'the helper dies': ({ helper }) => helper.die(),
  'the agent needs the radio': ({ set, radio }, pick) => {
    set(pick(['hotspot_in_use', 'joining'] as const));
    radio.recheck();
  },
  'the agent does not need it': ({ set, radio }) => {
    set(null);
    radio.recheck();
  },
  'leadership is lost': ({ leadership }) => leadership.set(null),
  'leadership is gained': ({ leadership }) => leadership.set(1),
  'a moment passes': ({ clock }) => clock.advance(300),
  'seconds pass': ({ clock }) => clock.advance(3_000),
  'a minute passes': ({ clock }) => clock.advance(60_000),
};

/** How often the interesting states were reached. */
const seen = { scanning: 0, shown: 0 };

/** What must hold after every step, whatever happened before. */
function check({ hub, leadership, helper, radio, views, paused }: World, trace: () => string): void {
  const isWatched = hub.size() > 0;
  const isLeader = leadership.isLeader();
  const isWanted = isWatched && isLeader && paused() === null;
  assert.equal(helper.isTold(), isWanted && helper.isReady(), trace());
  seen.scanning += helper.isTold() ? 1 : 0;
  if (!isLeader) return;
  if (!isWatched) {
    assert.deepEqual(radio.candidates(), [], `nobody watches, so nothing is kept${trace()}`);
    assert.equal(radio.report().state, 'off', trace());
  }
  seen.shown += radio.candidates().length > 0 && views.length > 1 ? 1 : 0;
  const cached = radio.candidates().map((candidate) => JSON.stringify(candidate));
  for (const { shown } of views) assert.deepEqual([...shown.values()].sort(), cached.toSorted(), trace());
}

test(`${rounds} random interleavings of clients, advertisements, ends of the helper, pauses and leaders`, async () => {
  const seed = 20_260_301;
  const random = seeded(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const world = await startWorld(random);
  // The steps towards a scan come more often, so that much happens while it runs.
  const towards = ['connect', 'the helper starts', 'the agent does not need it', 'leadership is gained', 'discover'];
  const names = [...Object.keys(steps), ...towards, ...towards, ...towards];
  for (let round = 0; round < rounds; round++) {
    const done: string[] = [];
    const trace = (): string => ` (seed ${seed}, round ${round}: ${done.join(' → ')})`;
    for (let step = 0; step < stepsARound; step++) {
      const name = pick(names);
      done.push(name);
      await steps[name]!(world, pick);
      await settled();
      check(world, trace);
    }
    // From every state a scan is reached again: nothing is stuck.
    if (round % 50 === 0) await recovers(world, trace);
  }
  await world.radio[Symbol.asyncDispose]();
  assert.ok(seen.scanning > rounds && seen.shown > rounds / 2, JSON.stringify(seen));
});

async function recovers(world: World, trace: () => string): Promise<void> {
  const { clock, helper, leadership, radio, hub, views } = world;
  leadership.set(1);
  world.set(null);
  radio.recheck();
  if (hub.size() === 0) await steps['connect']!(world, (items) => items[0]!);
  for (let second = 0; second < 120 && !helper.isTold(); second++) {
    await clock.advance(1_000);
    helper.send({ event: 'ready' });
    await settled();
  }
  assert.ok(helper.isTold(), `no scan within two minutes${trace()}`);
  helper.send({ event: 'scan_started' });
  helper.send(advertisement({ address: 'C0:FF:EE:00:00:0A' }));
  await clock.advance(1_500);
  for (const { shown } of views) assert.ok(shown.has('C0:FF:EE:00:00:0A'), `a device is not shown${trace()}`);
}

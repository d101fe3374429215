import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerMessage } from '@station/protocol/socket';
import { createDeviceEvents, type DeviceEvents } from '../core/device-events.ts';
import { createLeadership, type SettableLeadership } from '../core/leadership.ts';
import { wholeStation } from '../core/sight.ts';
import { watchersOf } from '../core/watchers.ts';
import { type Radio, startRadio } from '../provisioning/radio.ts';
import { createSocketHub, type HubClient, type SocketHub } from '../socket/hub.ts';
import { playedHelper, type PlayedHelper } from '../../testing/played-helper.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement } from '../../testing/remote-helper.ts';
import { settled, steppedClock, type SteppedClock } from '../../testing/stepped-clock.ts';
import type { ReplicaMessage } from './fan-out.ts';
import { createSharedWatchers, type SharedWatchers } from './shared-watchers.ts';

type Replica = {
  hub: SocketHub;
  local: DeviceEvents;
  leadership: SettableLeadership;
  helper: PlayedHelper;
  watchers: SharedWatchers;
  radio: Radio;
};

/** Replicas that exchange messages as `replicas.ts` does, without its database. */
async function startReplicas(clock: SteppedClock, ids: readonly string[]): Promise<Replica[]> {
  const all: Replica[] = [];
  const publish = (message: ReplicaMessage): void => {
    // Each replica receives a copy, later.
    const copy = JSON.parse(JSON.stringify(message)) as ReplicaMessage;
    setImmediate(() => {
      for (const { local, watchers } of all) {
        if (copy.kind === 'watched') watchers.receive(copy);
        else if (copy.kind === 'event') local.emit(copy.event);
      }
    });
  };
  for (const id of ids) {
    const logger = recordedLog();
    const hub = createSocketHub(clock);
    const local = createDeviceEvents(logger);
    local.subscribe((event) => {
      if (event.kind === 'message') hub.broadcast(event.message, event.key);
    });
    const emit: DeviceEvents['emit'] = (event) => {
      if (event.kind !== 'reports' && event.kind !== 'status') publish({ kind: 'event', event });
    };
    const leadership = createLeadership();
    const helper = playedHelper();
    const watchers = createSharedWatchers({ id, local: watchersOf(hub), publish, clock });
    const radio = await startRadio({
      serviceUuid: advertisement().service_uuids[0]!,
      startProcess: helper.start,
      askForPause: async () => null,
      watchers,
      leadership,
      hub,
      events: { emit, subscribe: local.subscribe },
      devices: { list: async () => [] },
      types: { find: () => undefined },
      clock,
      random: Math.random,
      logger,
    });
    all.push({ hub, local, leadership, helper, watchers, radio });
  }
  return all;
}

function enter({ hub }: Replica): { names: Set<string>; leave(): void } {
  const names = new Set<string>();
  const client: HubClient = {
    userId: 'olena',
    sessionId: 'her phone',
    sight: wholeStation,
    close: () => undefined,
    send: ({ messages }) => {
      for (const { text } of messages) {
        const message = JSON.parse(text) as ServerMessage;
        if (message.type === 'provisioning_candidate') names.add(message.candidate.name);
      }
    },
  };
  hub.add(client);
  return { names, leave: () => hub.remove(client) };
}

async function scanOf({ helper }: Replica): Promise<void> {
  helper.send({ event: 'ready' });
  await settled();
  assert.ok(helper.isTold(), 'it was told to scan');
  helper.send({ event: 'scan_started' });
  await settled();
}

test('the leader scans for the clients of every replica, and the next leader continues', async () => {
  const clock = steppedClock();
  const [first, second] = (await startReplicas(clock, ['one', 'two'])) as [Replica, Replica];
  first.leadership.set(1);
  await settled();
  const client = enter(second);
  await clock.advance(100);
  await scanOf(first);
  assert.equal(second.helper.starts(), 0, 'only the leader starts a helper');
  first.helper.send(advertisement());
  await clock.advance(100);
  assert.deepEqual([...client.names], ['SH_light_3f2a']);
  for (const { radio } of [first, second]) {
    assert.deepEqual(radio.report(), { state: 'scanning', reason: null });
    assert.deepEqual(
      radio.candidates().map(({ externalId, deviceType }) => ({ externalId, deviceType })),
      [{ externalId: '3f2a', deviceType: 'light' }],
    );
  }
  const late = enter(first);
  assert.deepEqual([...late.names], ['SH_light_3f2a'], 'replayed on the other replica');

  first.leadership.set(null);
  second.leadership.set(2);
  await clock.advance(100);
  assert.equal(first.helper.isTold(), false);
  await scanOf(second);
  assert.equal(second.radio.candidates().length, 1, 'the next leader keeps what was found');
  await clock.advance(31_000);
  assert.deepEqual(first.radio.candidates(), [], 'and drops what it does not hear');

  client.leave();
  await clock.advance(100);
  assert.ok(second.helper.isTold(), 'somebody still watches on the other replica');
  late.leave();
  await clock.advance(100);
  assert.equal(second.helper.isTold(), false);
  assert.equal(first.radio.report().state, 'off');
  for (const { radio, watchers } of [first, second]) {
    watchers[Symbol.dispose]();
    await radio[Symbol.asyncDispose]();
  }
});

test('clients of a replica that disappears do not count for long, and a replica that joins sees everything', async () => {
  const clock = steppedClock();
  const [first, second] = (await startReplicas(clock, ['one', 'two'])) as [Replica, Replica];
  first.leadership.set(1);
  const own = enter(first);
  await clock.advance(100);
  await scanOf(first);
  first.helper.send(advertisement());
  await clock.advance(100);
  first.watchers.receive({ kind: 'watched', replicaId: 'three', isWatched: true });
  assert.ok(second.watchers.isWatched());
  second.local.emit({
    kind: 'message',
    message: { type: 'provisioning_radio', at: '', radio: { state: 'off', reason: null } },
    key: 'provisioning_radio',
  });
  assert.deepEqual(second.radio.candidates(), [], 'it knows nothing, as after its start');
  enter(second);
  await clock.advance(100);
  assert.equal(second.radio.candidates().length, 1);
  assert.equal(second.radio.report().state, 'scanning');
  second.watchers[Symbol.dispose]();
  await second.radio[Symbol.asyncDispose]();
  own.leave();
  await clock.advance(20_000);
  assert.ok(first.watchers.isWatched(), 'the third replica was there a moment ago');
  await clock.advance(30_000);
  assert.equal(first.watchers.isWatched(), false);
  assert.equal(first.helper.isTold(), false);
  first.watchers[Symbol.dispose]();
  await first.radio[Symbol.asyncDispose]();
});

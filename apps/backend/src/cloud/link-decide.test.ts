import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLinkMachine, createReconnect, type LinkAction, type LinkEvent, pingEveryMs } from './link-decide.ts';

/** A state machine with its own clock. @param luck the random number; 0.5 is no jitter. */
function start(claimed = true, luck = 0.5) {
  const machine = createLinkMachine(createReconnect(() => luck));
  let now = 0;
  const on = (event: LinkEvent): LinkAction[] => machine.on(event, now);
  const log: string[] = on({ kind: 'start', claimed }).map((action) => `0 ${action}`);
  /** Lets time pass, and sends each requested `time` event. */
  const pass = (ms: number, answer: (action: LinkAction) => void = () => undefined): void => {
    const end = now + ms;
    for (;;) {
      const wake = machine.wakeAtMs();
      if (wake === null || wake > end) break;
      now = Math.max(now, wake);
      for (const action of on({ kind: 'time' })) {
        log.push(`${now} ${action}`);
        answer(action);
      }
    }
    now = end;
  };
  const authenticate = (): void => {
    on({ kind: 'opened' });
    on({ kind: 'accepted' });
  };
  return { machine, on, log, pass, authenticate, now: () => now };
}

const closed = (by: 'cloud' | 'network', code: number | null = null) =>
  ({ kind: 'closed', by, code, reason: 'gone' }) as const;

test('a claimed station presents its token, an unclaimed one its secret', () => {
  const claimed = start(true);
  assert.deepEqual(claimed.log, ['0 connect']);
  assert.equal(claimed.machine.view().state, 'connecting');
  assert.deepEqual(claimed.on({ kind: 'opened' }), ['send_auth']);
  claimed.on({ kind: 'accepted' });
  assert.equal(claimed.machine.view().state, 'authenticated');
  const unclaimed = start(false);
  assert.deepEqual(unclaimed.on({ kind: 'opened' }), ['send_claim']);
  assert.equal(unclaimed.machine.view().state, 'unclaimed');
  // An hour later it is still unclaimed: the link stays, as long as the cloud answers.
  unclaimed.pass(3_600_000, () => unclaimed.on({ kind: 'pong' }));
  assert.equal(unclaimed.log.filter((line) => line.includes('ping')).length, 120);
  assert.deepEqual(unclaimed.on({ kind: 'start', claimed: true }), ['end', 'connect']);
  assert.deepEqual(unclaimed.on({ kind: 'opened' }), ['send_auth']);
});

test('an auth_ok does not authenticate an unclaimed station', () => {
  const link = start(false);
  link.authenticate();
  assert.equal(link.machine.view().state, 'unclaimed');
});

test('an unreachable cloud is retried after 2, 4, 8 … 60 seconds', () => {
  const link = start();
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    link.on(closed('network'));
    const { nextAttemptAtMs, state } = link.machine.view();
    assert.equal(state, 'offline');
    waits.push((nextAttemptAtMs ?? 0) - link.now());
    link.pass((nextAttemptAtMs ?? 0) - link.now());
  }
  assert.deepEqual(waits, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test('the waits vary by a fifth and never go beyond 60 seconds', () => {
  const low = createReconnect(() => 0);
  const high = createReconnect(() => 0.999_999);
  assert.equal(low.nextMs('lost'), 1_600);
  assert.equal(high.nextMs('lost'), 2_400);
  for (let n = 0; n < 10; n++) high.nextMs('lost');
  assert.equal(high.nextMs('lost'), 60_000);
});

test('after the close code of a restarting or full cloud, the first wait is 5 to 30 seconds, then the usual waits follow', () => {
  for (const code of [1012, 1013]) {
    for (const [luck, first, second] of [
      [0, 5_000, 1_600],
      [0.5, 17_500, 2_000],
      [0.999_999, 30_000, 2_400],
    ] as const) {
      const link = start(true, luck);
      link.authenticate();
      link.on(closed('cloud', code));
      assert.equal(link.machine.view().nextAttemptAtMs, first);
      link.pass(first);
      link.on(closed('network'));
      assert.equal(link.machine.view().nextAttemptAtMs, first + second);
    }
  }
});

test('after any other close code, a reset or a lost ping, only the usual wait follows', () => {
  for (const code of [1000, 1001, 1006, 1008, 1011, 1014, 4400, null]) {
    const link = start();
    link.authenticate();
    link.on(closed('cloud', code));
    assert.equal(link.machine.view().nextAttemptAtMs, 2_000);
  }
  const silent = start();
  silent.authenticate();
  silent.pass(2 * pingEveryMs);
  assert.equal(silent.machine.view().nextAttemptAtMs, 2 * pingEveryMs + 2_000);
});

test('only a link that lasted 20 seconds resets the waits', () => {
  const link = start();
  const flap = (lastsMs: number): number => {
    link.authenticate();
    link.pass(lastsMs);
    link.on(closed('network'));
    const wait = (link.machine.view().nextAttemptAtMs ?? 0) - link.now();
    link.pass(wait);
    return wait;
  };
  assert.deepEqual(
    [flap(1_000), flap(1_000), flap(19_000), flap(20_000), flap(1_000)],
    [2_000, 4_000, 8_000, 2_000, 4_000],
  );
});

test('a half-open link is detected within 60 seconds, whenever it breaks', () => {
  for (let diesAt = 1; diesAt < 120_000; diesAt += 997) {
    const link = start();
    link.authenticate();
    link.pass(diesAt, (action) => void (action === 'ping' && link.on({ kind: 'pong' })));
    const died = link.now();
    link.pass(120_000);
    const end = Number(link.log.find((line) => line.endsWith(' end'))?.split(' ')[0]);
    assert.ok(end - died <= 2 * pingEveryMs, `died at ${died}, found at ${end}`);
  }
});

test('a rejected token is retried after 5 minutes, at most 12 times an hour, without end, and less often over time', () => {
  const link = start(true, 0);
  let attempts = 0;
  const refuse = (action: LinkAction): void => {
    if (action !== 'connect') return;
    attempts += 1;
    link.on({ kind: 'opened' });
    link.on({ kind: 'refused', reason: 'unknown token' });
    assert.equal(link.machine.view().state, 'rejected');
  };
  refuse('connect');
  link.pass(3_600_000, refuse);
  assert.ok(attempts <= 12, `${attempts} in the first hour`);
  attempts = 0;
  link.pass(24 * 3_600_000, refuse);
  assert.ok(attempts >= 23 && attempts <= 31, `${attempts} in a day`);
});

test('a cloud that accepts and then refuses is retried no more often than one that refuses at once', () => {
  const refusals: LinkEvent[] = [{ kind: 'refused', reason: 'revoked' }, closed('cloud', 4401)];
  for (const refusal of refusals) {
    const link = start(true, 0);
    let attempts = 0;
    const refuse = (action: LinkAction): void => {
      if (action !== 'connect') return;
      attempts += 1;
      link.authenticate();
      link.on(refusal);
      assert.equal(link.machine.view().state, 'rejected');
    };
    refuse('connect');
    link.pass(3_600_000, refuse);
    assert.ok(attempts <= 12, `${attempts} in an hour after ${refusal.kind}`);
  }
});

test('close code 4401 is a rejection; the link recovers automatically when the token is accepted again', () => {
  const link = start();
  link.on({ kind: 'opened' });
  link.on(closed('cloud', 4401));
  assert.equal(link.machine.view().state, 'rejected');
  assert.equal(link.machine.view().nextAttemptAtMs, 300_000);
  link.pass(300_000);
  assert.equal(link.machine.view().state, 'rejected', 'while it is tried');
  link.authenticate();
  assert.equal(link.machine.view().state, 'authenticated');
  assert.equal(link.machine.view().lastError, null);
});

test('a connection that never opens and a log-in without an answer time out', () => {
  const silent = start();
  silent.pass(15_000);
  assert.deepEqual(silent.log, ['0 connect', '15000 end']);
  const mute = start();
  mute.on({ kind: 'opened' });
  mute.pass(15_000);
  assert.deepEqual(mute.log, ['0 connect', '15000 end']);
});

test('any events in any order: it continues and holds one connection at most', () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const kinds: LinkEvent[] = [
    { kind: 'opened' },
    { kind: 'start', claimed: false },
    { kind: 'accepted' },
    { kind: 'refused', reason: 'no' },
    { kind: 'pong' },
    closed('cloud', 1001),
    closed('cloud', 4401),
    closed('network'),
    { kind: 'time' },
    { kind: 'start', claimed: true },
    { kind: 'stop' },
  ];
  const machine = createLinkMachine(createReconnect(random));
  let now = 0;
  let open = 0;
  for (let step = 0; step < 50_000; step++) {
    const event = kinds[Math.floor(random() * kinds.length)]!;
    now += Math.floor(random() * 40_000);
    if (event.kind === 'closed') open = 0;
    const before = machine.view().state;
    for (const action of machine.on(event, now)) {
      if (action === 'end') open = 0;
      if (action === 'connect') open += 1;
    }
    assert.ok(open <= 1, `${before} and ${event.kind} make ${open} connections`);
    if (event.kind !== 'stop' && machine.view().state === 'offline' && before !== 'offline') {
      assert.ok(machine.wakeAtMs() !== null);
    }
  }
});

test('it knows since when the link is down, and why a secure connection fails', () => {
  const machine = createLinkMachine(createReconnect(() => 0.5));
  machine.on({ kind: 'start', claimed: true }, 100);
  assert.equal(machine.view().downSinceMs, 100);
  const closed = { kind: 'closed', by: 'network', code: null, reason: 'x' } as const;
  machine.on({ ...closed, trouble: 'certificate' }, 200);
  assert.deepEqual([machine.view().downSinceMs, machine.view().trouble], [100, 'certificate']);
  machine.on({ kind: 'time' }, 10_000);
  machine.on(closed, 10_100);
  assert.equal(machine.view().trouble, null, 'the latest attempt had another fate');
  machine.on({ kind: 'time' }, 100_000);
  machine.on({ kind: 'opened' }, 100_001);
  machine.on({ kind: 'accepted' }, 100_002);
  assert.equal(machine.view().downSinceMs, null);
  machine.on(closed, 200_000);
  assert.equal(machine.view().downSinceMs, 200_000);
  machine.on({ kind: 'stop' }, 200_001);
  assert.deepEqual([machine.view().downSinceMs, machine.view().trouble], [null, null]);
});

test('a cloud that is reachable again and waits for a claim is no longer an error', () => {
  const machine = createLinkMachine(createReconnect(() => 0.5));
  machine.on({ kind: 'start', claimed: false }, 0);
  machine.on({ kind: 'closed', by: 'network', code: null, reason: 'ECONNREFUSED' }, 10);
  assert.equal(machine.view().lastError, 'ECONNREFUSED');
  machine.on({ kind: 'time' }, 10_000);
  machine.on({ kind: 'opened' }, 10_001);
  assert.deepEqual([machine.view().state, machine.view().lastError], ['unclaimed', null]);
});

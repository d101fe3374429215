import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerFact } from './stack-ports.ts';
import type { Watch } from './stack-facts.ts';
import type { Surface, SurfacePart } from './surface-ports.ts';
import {
  addParts,
  addSample,
  judgeHealth,
  partsToLookAt,
  restartBaseline,
  startWatch,
  type Restarts,
} from './health-decide.ts';

const gate = { stabilizationMs: 45_000, timeoutMs: 60_000, devicesMs: 200_000 };
const imageIds = { backend: 'sha256:b', frontend: 'sha256:f' };
const ok = { ok: true, status: 200, reason: null };
const refused = { ok: false, status: null, reason: 'connection refused' };

const container = (service: 'backend' | 'frontend', changes: Partial<ContainerFact> = {}): ContainerFact => ({
  id: service,
  service,
  image: 'any',
  imageId: imageIds[service],
  state: 'running',
  health: 'none',
  restartCount: 0,
  exitCode: 0,
  ...changes,
});
const running = [container('backend'), container('frontend')];
const restarted = (backend: number): ContainerFact[] => [
  container('backend', { restartCount: backend }),
  container('frontend'),
];

type Sample = { at: number; answer?: typeof ok | typeof refused; containers?: ContainerFact[] };

const watch = (samples: readonly Sample[], baseline: Restarts = {}): Watch =>
  samples.reduce(
    (before, { at, answer = ok, containers = running }) =>
      addSample(before, { nowMs: at, answer, containers, imageIds }, baseline),
    startWatch(0),
  );
const every = (from: number, to: number, stepMs: number, sample: Omit<Sample, 'at'> = {}): Sample[] =>
  Array.from({ length: Math.floor((to - from) / stepMs) + 1 }, (_, index) => ({
    at: from + index * stepMs,
    ...sample,
  }));

describe('the verdict', () => {
  const verdicts: readonly [string, readonly Sample[], string | RegExp][] = [
    ['waits before anything was seen', [], 'wait'],
    ['waits out the stabilization time', every(0, 44_000, 1000), 'wait'],
    ['passes when it held to the end of it', every(0, 45_000, 1000), 'passed'],
    [
      'asks for ten steady seconds',
      [...every(0, 36_000, 1000, { answer: refused }), ...every(37_000, 46_000, 1000)],
      'wait',
    ],
    ['passes after them', [...every(0, 36_000, 1000, { answer: refused }), ...every(37_000, 47_000, 1000)], 'passed'],
    ['fails when the time is up', every(0, 105_000, 1000, { answer: refused }), /connection refused/],
    ['waits until then', every(0, 104_000, 1000, { answer: refused }), 'wait'],
    [
      'gives the rest of the stretch to whoever passes when the time is up',
      [...every(0, 99_000, 1000, { answer: refused }), ...every(100_000, 106_000, 1000)],
      'wait',
    ],
    ['counts only what was seen, not the time nobody looked', [{ at: 0 }, { at: 40_000 }], 'wait'],
    [
      'fails a service that was restarted four times',
      [
        {
          at: 3000,
          answer: refused,
          containers: [container('backend', { restartCount: 4 }), running[1] as ContainerFact],
        },
      ],
      /keeps crashing/,
    ],
    [
      'waits at three restarts in little time',
      [
        {
          at: 3000,
          answer: refused,
          containers: [container('backend', { restartCount: 3 }), running[1] as ContainerFact],
        },
      ],
      'wait',
    ],
    [
      'fails two restarts when it is not healthy after twelve seconds',
      [
        {
          at: 12_000,
          answer: refused,
          containers: [container('backend', { restartCount: 2 }), running[1] as ContainerFact],
        },
      ],
      /keeps crashing/,
    ],
    [
      'forgives two restarts in little time to a service that is healthy then',
      every(3000, 45_000, 1000, { containers: restarted(2) }),
      'passed',
    ],
    [
      'fails the second restart after twelve seconds, however well the proxy answers',
      [...every(0, 20_000, 1000, { containers: restarted(1) }), { at: 21_000, containers: restarted(2) }],
      /keeps crashing/,
    ],
    [
      'passes one restart at the start',
      [{ at: 0 }, ...every(1000, 45_000, 1000, { containers: restarted(1) })],
      'passed',
    ],
    [
      'asks a service that was restarted late to stand twice as long',
      [...every(0, 29_000, 1000), ...every(30_000, 89_000, 1000, { containers: restarted(1) })],
      'wait',
    ],
    [
      'passes it then',
      [...every(0, 29_000, 1000), ...every(30_000, 90_000, 1000, { containers: restarted(1) })],
      'passed',
    ],
    [
      'fails a container that ended and is not restarted',
      [
        {
          at: 500,
          answer: refused,
          containers: [container('backend', { state: 'exited', exitCode: 1 }), running[1] as ContainerFact],
        },
      ],
      /"backend" ended/,
    ],
  ];
  for (const [name, samples, expected] of verdicts) {
    test(name, () => {
      const verdict = judgeHealth(watch(samples), gate);
      if (typeof expected === 'string') assert.equal(verdict.kind, expected);
      else {
        assert.equal(verdict.kind, 'failed');
        assert.match(verdict.kind === 'failed' ? verdict.reason : '', expected);
      }
    });
  }

  test('passes with the first pass when there is no stabilization time', () => {
    assert.deepEqual(judgeHealth(watch([{ at: 0 }]), { ...gate, stabilizationMs: 0, timeoutMs: 1000 }), {
      kind: 'passed',
    });
  });

  test('asks for no longer stretch than the stabilization time', () => {
    const short = { ...gate, stabilizationMs: 2000, timeoutMs: 1000 };
    assert.equal(judgeHealth(watch([{ at: 0 }, { at: 2000 }]), short).kind, 'passed');
  });
});

describe('a service that crashes again and again behind a proxy that holds requests', () => {
  for (const everyMs of [5000, 11_000, 15_000, 20_000, 23_000, 30_000, 35_000, 44_000]) {
    test(`every ${everyMs / 1000} s never passes`, () => {
      // Made before the watch began, as by a command that waited for it to be ready.
      const aheadMs = 3000;
      let seen = startWatch(0);
      let verdict = judgeHealth(seen, gate);
      for (let nowMs = 0; verdict.kind === 'wait'; nowMs += 1000) {
        const containers = restarted(Math.floor((nowMs + aheadMs) / everyMs));
        seen = addSample(seen, { nowMs, answer: ok, containers, imageIds }, {});
        verdict = judgeHealth(seen, gate);
      }
      assert.deepEqual(verdict, { kind: 'failed', code: 'release_unhealthy', reason: 'a service keeps crashing' });
    });
  }
});

describe('two services that are restarted', () => {
  const both = (backend: number, frontend: number, changes: Partial<ContainerFact> = {}): ContainerFact[] => [
    container('backend', { restartCount: backend }),
    container('frontend', { restartCount: frontend, ...changes }),
  ];
  /** The backend twice in little time, which is forgiven to it, and the frontend once at 13 s. */
  const harmless = [
    { at: 2000, answer: refused, containers: both(1, 0) },
    { at: 4000, answer: refused, containers: both(2, 0) },
    ...every(5000, 12_000, 1000, { containers: both(2, 0) }),
  ];

  test('are not counted together', () => {
    const seen = watch([...harmless, ...every(13_000, 45_000, 1000, { containers: both(2, 1) })]);
    assert.deepEqual(judgeHealth(seen, gate), { kind: 'passed' });
  });

  test('are not counted together either while the second is stopped for a moment', () => {
    const away = { at: 13_000, containers: both(2, 0, { state: 'restarting' }) };
    assert.equal(judgeHealth(watch([...harmless, away]), gate).kind, 'wait');
    const seen = watch([...harmless, away, ...every(14_000, 45_000, 1000, { containers: both(2, 1) })]);
    assert.deepEqual(judgeHealth(seen, gate), { kind: 'passed' });
  });

  test('are given up when one of them is restarted again after twelve seconds', () => {
    const containers = both(3, 1);
    const verdict = judgeHealth(watch([...harmless, { at: 13_000, containers }]), gate);
    assert.deepEqual(verdict, { kind: 'failed', code: 'release_unhealthy', reason: 'a service keeps crashing' });
  });
});

describe('a sample', () => {
  const problems: readonly [string, ContainerFact[], string | null][] = [
    ['all containers running', running, null],
    ['a service without a container', [container('frontend')], 'service "backend" has no container'],
    [
      'another image',
      [container('backend', { imageId: 'sha256:old' }), container('frontend')],
      'service "backend" runs another image',
    ],
    [
      'a leftover beside the right container',
      [...running, container('backend', { id: 'left', imageId: 'sha256:old', state: 'exited' })],
      'service "backend" runs another image',
    ],
    [
      'a restarting container',
      [container('backend', { state: 'restarting' }), container('frontend')],
      'service "backend" is restarting',
    ],
    [
      'a container that calls itself unhealthy',
      [container('backend', { health: 'unhealthy' }), container('frontend')],
      'service "backend" reports itself unhealthy',
    ],
    ['one that is still starting', [container('backend', { health: 'starting' }), container('frontend')], null],
    ['one that has done its work', [container('backend'), container('frontend', { state: 'exited' })], null],
    [
      'a container of a service that is no part of the release',
      [...running, { ...container('backend'), id: 'x', service: 'mqtt', state: 'exited', exitCode: 1 }],
      null,
    ],
  ];
  for (const [name, containers, reason] of problems) {
    test(`with ${name} ${reason === null ? 'passes' : 'does not pass'}`, () => {
      const seen = watch([{ at: 100, containers }]);
      assert.equal(seen.lastReason, reason);
      assert.equal(seen.passingSinceMs, reason === null ? 100 : null);
    });
  }

  test('ends a run of passes, and keeps when the first one was', () => {
    const seen = watch([{ at: 100 }, { at: 200, answer: refused }, { at: 300 }]);
    assert.deepEqual([seen.passingSinceMs, seen.firstPassMs, seen.attempts], [300, 100, 3]);
  });

  test('begins the run of passes anew with a restart of any service', () => {
    const both = [container('backend', { restartCount: 1 }), container('frontend', { restartCount: 1 })];
    const seen = watch([
      { at: 100 },
      { at: 200, containers: restarted(1) },
      { at: 300, containers: both },
      { at: 400, containers: both },
    ]);
    assert.deepEqual([seen.passingSinceMs, seen.firstPassMs], [300, 100]);
    assert.deepEqual(seen.restarts, {
      backend: { count: 1, lastAfterMs: 200, passedSince: true },
      frontend: { count: 1, lastAfterMs: 300, passedSince: true },
    });
  });

  test('counts restarts from the start of the watch on', () => {
    const before = [container('backend', { restartCount: 7 }), container('frontend')];
    const baseline = restartBaseline(before, ['backend', 'frontend']);
    const seen = watch(
      [{ at: 0, containers: [container('backend', { restartCount: 9 }), container('frontend')] }],
      baseline,
    );
    assert.equal(seen.restarts['backend']?.count, 2);
    assert.equal(
      watch([{ at: 0, containers: [container('backend', { id: 'new', restartCount: 3 })] }], baseline).restarts['new']
        ?.count,
      3,
    );
    // Starting a container by hand sets its count back.
    assert.deepEqual(watch([{ at: 0, containers: before }], { backend: 9 }).restarts, {});
  });
});

describe('what the release before has shown', () => {
  const surface: Surface = {
    page: 'modules',
    socket: true,
    setupNeeded: null,
    logIn: false,
    devices: ['lamp', 'plug'],
  };
  type Seen = Partial<Record<SurfacePart, string | null>>;
  /** Passes from the start to `until`, every second, and looks once at what is not shown yet. */
  const shown = (until: number, seen: Seen): Watch => {
    const passing = every(0, until, 1000).reduce(
      (before, { at }) => addSample(before, { nowMs: at, answer: ok, containers: running, imageIds }, {}),
      startWatch(0, surface),
    );
    return addParts(passing, new Map(Object.entries(seen) as [SurfacePart, string | null][]));
  };
  const all: Seen = { page: null, socket: null, devices: null };

  test('is required of the new one, and nothing else', () => {
    assert.deepEqual(partsToLookAt(shown(0, {})), ['page', 'socket', 'devices']);
    assert.deepEqual(judgeHealth(shown(45_000, all), gate), { kind: 'passed' });
    assert.deepEqual(judgeHealth(shown(44_000, all), gate), { kind: 'wait' });
  });

  test('is not looked at again once it was seen, nor while the release does not pass', () => {
    assert.deepEqual(partsToLookAt(shown(1000, { page: null, socket: 'no answer' })), ['socket', 'devices']);
    const failing = addSample(shown(1000, {}), { nowMs: 2000, answer: refused, containers: running, imageIds }, {});
    assert.deepEqual(partsToLookAt(failing), []);
  });

  test('may take as long as health may, and is then the reason', () => {
    const broken = { ...all, page: 'the page is blank' };
    assert.deepEqual(judgeHealth(shown(104_000, broken), gate), { kind: 'wait' });
    const reason = 'the page is blank';
    assert.deepEqual(judgeHealth(shown(105_000, broken), gate), {
      kind: 'failed',
      code: 'release_page_broken',
      reason,
    });
  });

  test('devices have a time of their own', () => {
    const away = { ...all, devices: 'only 0 of 2 devices came back' };
    assert.deepEqual(judgeHealth(shown(199_000, away), gate), { kind: 'wait' });
    const verdict = judgeHealth(shown(200_000, away), gate);
    assert.deepEqual(verdict, { kind: 'failed', code: 'release_devices_away', reason: away.devices });
    const slow = { ...gate, timeoutMs: 300_000 };
    assert.deepEqual(judgeHealth(shown(200_000, away), slow), { kind: 'wait' }, 'a slow card is slow for devices too');
  });

  test('has to be seen again after a restart of a service', () => {
    const again = addSample(shown(5000, all), { nowMs: 6000, answer: ok, containers: restarted(1), imageIds }, {});
    assert.deepEqual(partsToLookAt(again), ['page', 'socket', 'devices']);
  });
});

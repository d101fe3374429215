import type { FastifyInstance } from 'fastify';
import type {
  Firmware,
  FirmwareMode,
  Rollout,
  RolloutAction,
  RolloutDetails,
  RolloutTarget,
  TargetState,
} from '@station/protocol/firmware-rollouts';
import { targetStates } from '@station/protocol/firmware-rollouts';
import type { ServerMessage } from '@station/protocol/socket';
import { ago } from './scenes.ts';

export const firmwareMoods = ['calm', 'busy', 'many', 'none', 'fault', 'loading'] as const;
export type FirmwareMood = (typeof firmwareMoods)[number];

const minute = 60_000;
const failure = { statusCode: 500, error: 'Error', code: 'internal', message: '' };
const deviceId = (number: number): string => `019a9d2f-0002-7000-8000-${String(number).padStart(12, '0')}`;
const rolloutId = (number: number): string => `019a9d2f-0009-7000-8000-${String(number).padStart(12, '0')}`;

const target = (number: number, state: TargetState, more: Partial<RolloutTarget> = {}): RolloutTarget => ({
  deviceId: deviceId(number),
  state,
  phase: null,
  percent: null,
  wave: state === 'waiting' ? null : 0,
  failures: 0,
  reason: null,
  changedAt: ago(minute / 6),
  ...more,
});

function rollout(
  number: number,
  type: string,
  version: string,
  targets: RolloutTarget[],
  more: Partial<Rollout> = {},
): RolloutDetails {
  const count = (wanted: TargetState): number => targets.filter(({ state }) => state === wanted).length;
  return {
    id: rolloutId(number),
    type,
    version,
    state: 'running',
    wave: 0,
    waves: 4,
    reason: null,
    requestedBy: null,
    createdAt: ago(4 * minute),
    endedAt: null,
    devices: Object.fromEntries(targetStates.map((state) => [state, count(state)])) as Rollout['devices'],
    ...more,
    targets,
  };
}

const past = (): RolloutDetails[] => [
  rollout(8, 'pir', '1.4.2', [target(5, 'updated'), target(8, 'updated')], {
    state: 'done',
    endedAt: ago(40 * 24 * 60 * minute),
  }),
  rollout(9, 'switch-pir', '1.4.1', [target(4, 'skipped')], { state: 'aborted', endedAt: ago(50 * 24 * 60 * minute) }),
];

const busy = (): RolloutDetails[] => [
  rollout(1, 'climate', '1.5.0', [target(2, 'updating', { phase: 'downloading', percent: 42 }), target(6, 'waiting')]),
  rollout(2, 'pir', '2.0.0-rc.1', [target(5, 'waiting'), target(8, 'waiting')], { state: 'waiting_approval' }),
  rollout(
    3,
    'light',
    '1.5.0',
    [target(1, 'failed', { failures: 2, reason: 'flash verify failed at 0x3e000' }), target(3, 'skipped')],
    { state: 'stopped', endedAt: ago(12 * minute), reason: 'The first device failed: flash verify failed at 0x3e000' },
  ),
  ...past(),
];

const many = (): RolloutDetails[] => [
  rollout(
    1,
    'climate',
    '1.5.0',
    Array.from({ length: 100 }, (_, n) => {
      if (n < 46) return target(100 + n, 'updated', { wave: n === 0 ? 0 : 2 });
      if (n < 54) return target(100 + n, 'updating', { phase: 'downloading', percent: (n - 45) * 11, wave: 2 });
      return target(100 + n, n === 54 ? 'failed' : 'waiting', n === 54 ? { reason: 'no space', failures: 2 } : {});
    }),
    { wave: 2 },
  ),
  ...past(),
];

const rolloutsOf: Record<FirmwareMood, () => RolloutDetails[]> = {
  calm: past,
  busy,
  many,
  none: () => [],
  fault: past,
  loading: past,
};

const image = (version: string, days: number): Firmware['images'][number] => ({
  version,
  size: 1_243_000,
  readyAt: ago(days * 24 * 60 * minute),
});

const types = (): Firmware[] => [
  {
    type: 'climate',
    mode: 'automatic',
    images: [image('1.5.0', 1), image('1.4.2', 41), image('1.3.0', 90)],
    installed: [{ version: '1.4.2', devices: 2 }],
  },
  { type: 'kettle', mode: 'automatic', images: [], installed: [{ version: '1.4.2', devices: 1 }] },
  {
    type: 'light',
    mode: 'automatic',
    images: [image('1.5.0', 1), image('1.4.2', 41)],
    installed: [{ version: '1.4.2', devices: 2 }],
  },
  {
    type: 'pir',
    mode: 'approval',
    images: [image('2.0.0-rc.1', 0), image('1.4.2', 41)],
    installed: [
      { version: '1.4.2', devices: 1 },
      { version: null, devices: 1 },
    ],
  },
];

const ends: Record<RolloutAction, Partial<Rollout>> = {
  approve: { state: 'running' },
  pause: { state: 'paused' },
  resume: { state: 'running' },
  abort: { state: 'aborted', endedAt: ago(0) },
};

/** The routes of firmware. Actions change only the state. */
export function addFirmware(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
): { setMood(mood: FirmwareMood): void } {
  let mood: FirmwareMood = 'calm';
  let all = past();
  let kinds = types();
  const brief = ({ targets: _, ...one }: RolloutDetails): Rollout => one;
  const say = (one: RolloutDetails): void =>
    broadcast({ type: 'firmware_rollout', at: ago(0), rollout: brief(one), target: null });

  app.get('/api/firmware', async (_request, reply) => {
    if (mood === 'loading') await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (mood === 'fault') return reply.code(500).send(failure);
    return mood === 'none' ? [] : kinds;
  });
  app.patch<{ Params: { type: string }; Body: { mode: FirmwareMode } }>('/api/firmware/:type', (request) => {
    kinds = kinds.map((one) => (one.type === request.params.type ? { ...one, mode: request.body.mode } : one));
    return kinds.find(({ type }) => type === request.params.type);
  });
  app.get('/api/firmware/rollouts', () => all.map(brief));
  app.get<{ Params: { id: string } }>('/api/firmware/rollouts/:id', (request) =>
    all.find(({ id }) => id === request.params.id),
  );
  app.post<{ Body: { type: string; version: string } }>('/api/firmware/rollouts', async (request, reply) => {
    const { type, version } = request.body;
    const made = rollout(20 + all.length, type, version, [target(2, 'waiting')], { createdAt: ago(0) });
    all = [made, ...all];
    say(made);
    return reply.code(201).send(made);
  });
  app.post<{ Params: { id: string; action: RolloutAction } }>('/api/firmware/rollouts/:id/:action', (request) => {
    const { id, action } = request.params;
    all = all.map((one) => (one.id === id ? { ...one, ...ends[action] } : one));
    const changed = all.find((one) => one.id === id);
    if (changed) say(changed);
    return changed && brief(changed);
  });

  return {
    setMood: (next) => {
      mood = next;
      all = rolloutsOf[next]();
      kinds = types();
    },
  };
}

import type { TFunction } from 'i18next';
import type { Device } from '@station/protocol/devices';
import type { Firmware, Rollout, RolloutState, RolloutTarget } from '@station/protocol/firmware-rollouts';
import { isNewer } from '@station/protocol/version';
import { dot, orElse } from '../../i18n/words.ts';
import type { Tone } from '../../ui/tone.tsx';

/* Turns rollouts into text. The text follows from states and counts; the station's English reason is shown beside it, small. */

const going: ReadonlySet<RolloutState> = new Set(['waiting_approval', 'running', 'paused']);

/** Not ended yet. */
export const isGoing = ({ state }: Pick<Rollout, 'state'>): boolean => going.has(state);

export const totalOf = ({ devices }: Pick<Rollout, 'devices'>): number =>
  Object.values(devices).reduce((sum, count) => sum + count, 0);

export function toneOfRollout({ state, devices }: Pick<Rollout, 'state' | 'devices'>): Tone | 'notice' {
  switch (state) {
    case 'waiting_approval':
    case 'paused':
      return 'attention';
    case 'running':
      return 'working';
    case 'done':
      return devices.failed > 0 ? 'attention' : 'ok';
    case 'stopped':
      return 'fault';
    case 'aborted':
    case 'superseded':
      return 'notice';
  }
}

/** The phase of a rollout, and an explanation where it needs one. */
export function phaseWords(t: TFunction, rollout: Rollout): { sentence: string; help: string } {
  const { state, wave, waves, devices } = rollout;
  const phase = phaseOf(rollout);
  return {
    sentence: t(`firmware.rollout.phase.${phase}`, { wave: wave + 1, waves, count: devices.failed }),
    help: orElse(t, `firmware.rollout.help.${phase === 'firstAwaited' ? phase : state}`, ''),
  };
}

/** What is most telling about a rollout: the key of its sentence. */
function phaseOf({ state, wave, waves, devices }: Rollout) {
  if (state === 'running' && (wave > 0 || waves < 2)) return 'wave';
  if (state === 'running' && devices.updating > 0) return 'first';
  if (state === 'running') return devices.updated > 0 ? 'firstHolds' : 'firstAwaited';
  if (state === 'done' && devices.failed > 0) return 'doneWithout';
  if (state === 'stopped' && devices.failed > 0) return wave === 0 ? 'firstFailed' : 'failed';
  return state;
}

/** How far a device is. @param device undefined: it was removed. */
export function targetWords(
  t: TFunction,
  target: RolloutTarget,
  device: Device | undefined,
  { wave, waves }: Pick<Rollout, 'wave' | 'waves'>,
): string {
  const { state, phase, percent, failures, reason } = target;
  if (state === 'updating') return t(`firmware.target.${phase ?? 'offered'}`);
  if (state !== 'waiting') return t(`firmware.target.${state}`);
  if (phase === 'installing') return t(wave < waves - 1 ? 'firmware.target.notBackHolds' : 'firmware.target.notBack');
  if (device?.status === 'offline') return t('firmware.target.asleep');
  if (failures > 0) return t('firmware.target.again');
  return t(percent !== null || reason !== null ? 'firmware.target.interrupted' : 'firmware.target.turn');
}

/** Devices whose firmware is older than the newest available. */
export function countBehind(types: readonly Firmware[]): number {
  const behind = ({ images, installed }: Firmware): number =>
    installed
      .filter(({ version }) => version !== null && isNewer(images[0]?.version ?? null, version))
      .reduce((sum, { devices }) => sum + devices, 0);
  return types.reduce((sum, type) => sum + behind(type), 0);
}

/** Stopped rollouts that are the latest of their type: no later one has replaced them. */
export const stoppedLast = (rollouts: readonly Rollout[]): Rollout[] =>
  rollouts.filter(
    ({ id, type, state }) => state === 'stopped' && rollouts.find((other) => other.type === type)?.id === id,
  );

/** The one line of firmware: what is most important now. `rollouts` newest first. */
export function firmwareHeadline(
  { t, nameOf }: { t: TFunction; nameOf: (type: string) => string },
  types: readonly Firmware[],
  rollouts: readonly Rollout[],
): { tone: Tone; words: string } {
  const count = (state: RolloutState): number => rollouts.filter((one) => one.state === state).length;
  const [stopped] = stoppedLast(rollouts);
  if (stopped) return { tone: 'fault', words: t('firmware.head.stopped', { type: nameOf(stopped.type) }) };
  const waiting = count('waiting_approval');
  if (waiting > 0) return { tone: 'attention', words: t('firmware.head.approval', { count: waiting }) };
  const running = count('running');
  if (running > 0) return { tone: 'working', words: t('firmware.head.running', { count: running }) };
  const behind = countBehind(types);
  if (behind > 0) return { tone: 'attention', words: t('firmware.head.behind', { count: behind }) };
  const isKnown = types.some(({ images }) => images.length > 0);
  return { tone: 'ok', words: t(isKnown ? 'firmware.head.newest' : 'firmware.head.none') };
}

/** "3 of 8 updated · 2 under way · 3 waiting" */
export function countWords(t: TFunction, rollout: Pick<Rollout, 'devices'>): string {
  const { devices } = rollout;
  const others = (['updating', 'waiting', 'failed', 'skipped'] as const)
    .filter((state) => devices[state] > 0)
    .map((state) => t(`firmware.rollout.counts.${state}`, { count: devices[state] }));
  return [t('firmware.rollout.counts.updated', { done: devices.updated, total: totalOf(rollout) }), ...others].join(
    dot,
  );
}

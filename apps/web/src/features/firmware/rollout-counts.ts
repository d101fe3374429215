import type { TFunction } from 'i18next';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { dot } from '../../i18n/words.ts';
import { totalOf } from './rollout-words.ts';

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

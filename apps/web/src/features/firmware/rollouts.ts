import { stoppedLast } from './rollout-words.ts';
import { useQuery } from '@tanstack/react-query';
import type { Firmware, Rollout, RolloutAction, RolloutDetails } from '@station/protocol/firmware-rollouts';
import { type Command, useCommand } from '../../api/command.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import { isLimited } from '@station/protocol/roles';
import { useServices, useUser } from '../../api/services.ts';
import { firmwareKey, firmwareTypesKey, rolloutKey, rolloutsKey, withRollout } from './follow-firmware.ts';

export const useFirmwareTypes = (): Reading<Firmware[]> =>
  useReading(firmwareTypesKey, 'GET /api/firmware', { isRefused: isLimited(useUser().role) });

/** Newest first. */
export const useRollouts = (): Reading<Rollout[]> => useReading(rolloutsKey, 'GET /api/firmware/rollouts');

export const useRollout = (id: string): Reading<RolloutDetails> =>
  useReading(rolloutKey(id), 'GET /api/firmware/rollouts/:id', {}, { params: { id } });

export const useRolloutAction = (id: string): Command<Rollout, RolloutAction> =>
  useCommand((session, action) => session.call(`POST /api/firmware/rollouts/:id/${action}`, { params: { id } }), {
    reads: firmwareKey,
    keep: (queries, changed) =>
      queries.setQueryData<readonly Rollout[]>(rolloutsKey, (all) => all && withRollout(all, changed)),
  });

/** Begins a rollout of this version, whatever version the devices have. */
export const useInstall = (type: string): Command<RolloutDetails, string> =>
  useCommand((session, version) => session.call('POST /api/firmware/rollouts', { body: { type, version } }), {
    reads: firmwareKey,
    keep: (queries, made) => queries.setQueryData(rolloutKey(made.id), made),
  });

/**
 * The rollout that needs attention: it waits for approval, or it was stopped and was not seen yet.
 * @param readAt end of the latest one that was seen in this browser, ISO 8601; null: none.
 */
export function attentionOf(rollouts: readonly Rollout[], readAt: string | null): Rollout | null {
  const stopped = stoppedLast(rollouts).find(({ endedAt }) => readAt === null || (endedAt ?? '') > readAt);
  return stopped ?? rollouts.find(({ state }) => state === 'waiting_approval') ?? null;
}

const seldomMs = 60_000;

/** For people who may act on it; null for others, and before the data is known. */
export function useFirmwareAttention(mayManage: boolean): Rollout | null {
  const { session, memory } = useServices();
  const { data } = useQuery({
    queryKey: rolloutsKey,
    queryFn: ({ signal }) => session.call('GET /api/firmware/rollouts', { signal }),
    enabled: mayManage,
    refetchInterval: seldomMs,
  });
  return mayManage && data !== undefined ? attentionOf(data, memory.get('read-firmware')) : null;
}

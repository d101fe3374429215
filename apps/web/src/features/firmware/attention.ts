import { useQuery } from '@tanstack/react-query';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { useServices } from '../../api/services.ts';
import { rolloutsKey } from './keys.ts';
import { stoppedLast } from './rollout-words.ts';

/**
 * What a person should look at: a rollout that waits for approval, or one that was stopped and that they have not seen yet.
 * @param readAt end of the latest one that was seen in this browser, ISO 8601; null: none.
 */
export function attentionOf(rollouts: readonly Rollout[], readAt: string | null): Rollout | null {
  const stopped = stoppedLast(rollouts).find(({ endedAt }) => readAt === null || (endedAt ?? '') > readAt);
  return stopped ?? rollouts.find(({ state }) => state === 'waiting_approval') ?? null;
}

const seldomMs = 60_000;

/** For whoever may act on it; null for others, and while nothing is known. */
export function useFirmwareAttention(mayManage: boolean): Rollout | null {
  const { session, memory } = useServices();
  const { data } = useQuery({
    queryKey: rolloutsKey,
    queryFn: ({ signal }) => session.call<Rollout[]>('GET', '/api/firmware/rollouts', { signal }),
    enabled: mayManage,
    refetchInterval: seldomMs,
  });
  return mayManage && data !== undefined ? attentionOf(data, memory.get('read-firmware')) : null;
}

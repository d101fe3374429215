import { useQuery, type QueryClient } from '@tanstack/react-query';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import type { LiveService } from '../../api/live.ts';
import { isLimited } from '@station/protocol/roles';
import { useServices, useUser } from '../../api/services.ts';

/** Everything that was read of the cloud link. */
export const cloudKey = ['cloud'];
export const cloudStatusKey = [...cloudKey, 'status'];
export const claimKey = [...cloudKey, 'claim'];
export const cloudActivityKey = [...cloudKey, 'activity'];
export const deadLettersKey = [...cloudKey, 'dead-letters'];

/** Updates the state of the cloud link from the station's events, and reads again what they only announce. */
export function followCloud(live: LiveService, queries: QueryClient): void {
  const readAgain = (queryKey: readonly unknown[]): void => void queries.invalidateQueries({ queryKey });
  live.onMessage((message) => {
    if (message.type === 'hello') readAgain(cloudKey);
    if (message.type !== 'cloud_status') return;
    const before = queries.getQueryData<CloudStatus>(cloudStatusKey);
    const { status } = message;
    queries.setQueryData(cloudStatusKey, status);
    if (before?.askedAt !== status.askedAt) readAgain(cloudActivityKey);
    if (before?.outbox.deadLetters !== status.outbox.deadLetters) readAgain(deadLettersKey);
    // The code of an unclaimed station may change each time.
    if (status.claimedAt !== null && before?.claimedAt === status.claimedAt) return;
    // An old code is useless: where none is shown it is removed, so that it never appears.
    queries.removeQueries({ queryKey: claimKey, type: 'inactive' });
    readAgain(claimKey);
  });
}

/** The worst condition of the link; null when there is none, or people here do not use a cloud. */
export function cloudAttentionOf({ state, claimedAt, conditions }: CloudStatus): CloudCondition | null {
  const isWanted = claimedAt !== null || conditions.some(({ id }) => id === 'cloud_key_lost');
  if (state === 'disabled' || !isWanted) return null;
  const worst = conditions.find(({ severity }) => severity === 'fault');
  return worst ?? conditions.find(({ severity }) => severity === 'warning') ?? null;
}

const seldomMs = 60_000;

export function useCloudAttention(): CloudCondition | null {
  const { session } = useServices();
  const { role } = useUser();
  const { data } = useQuery({
    queryKey: cloudStatusKey,
    enabled: !isLimited(role),
    queryFn: ({ signal }) => session.call('GET /api/cloud/status', { signal }),
    refetchInterval: seldomMs,
  });
  return data === undefined ? null : cloudAttentionOf(data);
}

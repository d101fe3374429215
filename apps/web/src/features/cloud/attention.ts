import { useQuery } from '@tanstack/react-query';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import { useServices } from '../../api/services.ts';
import { cloudStatusKey } from './keys.ts';

/**
 * The worst that is wrong with the link of a station that somebody connected to the cloud; null when nothing is, or when nobody here wants
 * to have to do with a cloud.
 */
export function cloudAttentionOf({ state, claimedAt, conditions }: CloudStatus): CloudCondition | null {
  const isWanted = claimedAt !== null || conditions.some(({ id }) => id === 'cloud_key_lost');
  if (state === 'disabled' || !isWanted) return null;
  const worst = conditions.find(({ severity }) => severity === 'fault');
  return worst ?? conditions.find(({ severity }) => severity === 'warning') ?? null;
}

const seldomMs = 60_000;

export function useCloudAttention(): CloudCondition | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: cloudStatusKey,
    queryFn: ({ signal }) => session.call<CloudStatus>('GET', '/api/cloud/status', { signal }),
    refetchInterval: seldomMs,
  });
  return data === undefined ? null : cloudAttentionOf(data);
}

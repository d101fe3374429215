import { useMutation, type UseMutationResult, useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { CloudClaim, CloudSetAside, CloudStatus, SentAgain } from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import type { User } from '@station/protocol/rest';
import { type Reading, useReading } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { claimKey, cloudActivityKey, cloudKey, cloudStatusKey, setAsideKey } from './follow-cloud.ts';

export const useCloudStatus = (): Reading<CloudStatus> => useReading<CloudStatus>(cloudStatusKey, '/api/cloud/status');

/** What whoever claims the station has to show. */
export const useClaim = (): Reading<CloudClaim> => useReading<CloudClaim>(claimKey, '/api/cloud/claim');

/** Newest first. */
export const useCloudActivity = (): Reading<CloudActivity[]> =>
  useReading<CloudActivity[]>(cloudActivityKey, '/api/cloud/activity');

/** Messages that the cloud did not take, newest first. Only for whoever may send them again. */
export function useSetAside(): UseQueryResult<CloudSetAside[], Problem> {
  const { session } = useServices();
  return useQuery<CloudSetAside[], Problem>({
    queryKey: setAsideKey,
    queryFn: ({ signal }) => session.call<CloudSetAside[]>('GET', '/api/cloud/set-aside', { signal }),
  });
}

type Command<Answer> = UseMutationResult<Answer, Problem, void>;

/** Forgets the cloud; of a station that nobody has claimed, makes a new code. */
export function useUnclaim(): Command<void> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST', '/api/cloud/unclaim'),
    onSettled: () => queries.invalidateQueries({ queryKey: cloudKey }),
  });
}

export function useSendAgain(): Command<SentAgain> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST', '/api/cloud/set-aside/send'),
    onSettled: () => queries.invalidateQueries({ queryKey: cloudKey }),
  });
}

/** Whether they see the code of the station, and may end remote access: the owner, and who was it before the cloud named another. */
export const mayConnect = ({ role, wasOwner }: Pick<User, 'role' | 'wasOwner'>): boolean =>
  role === 'owner' || wasOwner === true;

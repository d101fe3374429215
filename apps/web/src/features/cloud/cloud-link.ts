import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { CloudClaim, CloudDeadLetter, CloudStatus, SentAgain } from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import type { User } from '@station/protocol/rest';
import { type Command, useCommand } from '../../api/command.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { claimKey, cloudActivityKey, cloudKey, cloudStatusKey, deadLettersKey } from './follow-cloud.ts';

export const useCloudStatus = (): Reading<CloudStatus> => useReading(cloudStatusKey, 'GET /api/cloud/status');

/** The code that is needed to claim the station. */
export const useClaim = (): Reading<CloudClaim> => useReading(claimKey, 'GET /api/cloud/claim');

/** Newest first. */
export const useCloudActivity = (): Reading<CloudActivity[]> => useReading(cloudActivityKey, 'GET /api/cloud/activity');

/** Dead letters: messages that the cloud refused, newest first. Only for people who may send them again. */
export function useDeadLetters(): UseQueryResult<CloudDeadLetter[], Problem> {
  const { session } = useServices();
  return useQuery<CloudDeadLetter[], Problem>({
    queryKey: deadLettersKey,
    queryFn: ({ signal }) => session.call('GET /api/cloud/dead-letters', { signal }),
  });
}

/** Forgets the cloud; for an unclaimed station makes a new code. */
export const useUnclaim = (): Command<void> =>
  useCommand((session) => session.call('POST /api/cloud/unclaim'), { reads: cloudKey });

export const useSendAgain = (): Command<SentAgain> =>
  useCommand((session) => session.call('POST /api/cloud/dead-letters/send'), { reads: cloudKey });

/** Whether a person sees the station's code and may end remote access: the owner, and the owner before a change by the cloud. */
export const mayConnect = ({ role, wasOwner }: Pick<User, 'role' | 'wasOwner'>): boolean =>
  role === 'owner' || wasOwner === true;

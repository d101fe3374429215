import { useMutation, type UseMutationResult, useQuery } from '@tanstack/react-query';
import type { Favourites } from '@station/protocol/devices';
import { hasFailed } from './reading.ts';
import type { Problem } from './request.ts';
import { useServices } from './services.ts';

export const favouritesKey = ['favourites'] as const;
const seldomMs = 300_000;
const none: readonly string[] = [];

/** Ids of the devices that this person wants first; null while they are read. Without an answer there are none. */
export function useFavourites(): readonly string[] | null {
  const { session } = useServices();
  const query = useQuery({
    queryKey: favouritesKey,
    queryFn: ({ signal }) => session.call('GET /api/favourites', { signal }),
    staleTime: seldomMs,
    retry: 5,
  });
  return query.data?.deviceIds ?? (hasFailed(query) ? none : null);
}

/** Changes the favourites. Shown at once, and taken back when it fails. */
export function useChangeFavourites(): UseMutationResult<Favourites, Problem, (ids: readonly string[]) => string[]> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: async (change) => {
      const body: Favourites = {
        deviceIds: change(queries.getQueryData<Favourites>(favouritesKey)?.deviceIds ?? none),
      };
      queries.setQueryData<Favourites>(favouritesKey, body);
      return session.call('PUT /api/favourites', { body });
    },
    onSuccess: (saved) => queries.setQueryData<Favourites>(favouritesKey, saved),
    onError: () => queries.invalidateQueries({ queryKey: favouritesKey }),
  });
}

import { type QueryClient, useQuery } from '@tanstack/react-query';
import type { Scene } from '@station/protocol/scenes';
import type { LiveService } from './live.ts';
import { hasFailed } from './reading.ts';
import { useServices } from './services.ts';

export const scenesKey = ['scenes'] as const;
const seldomMs = 300_000;
const none: readonly Scene[] = [];

/** By name; null while they are read. Without an answer there are none. */
export function useScenes(): readonly Scene[] | null {
  const { session } = useServices();
  const query = useQuery({
    queryKey: scenesKey,
    queryFn: ({ signal }) => session.call('GET /api/scenes', { signal }),
    staleTime: seldomMs,
    retry: 5,
  });
  return query.data ?? (hasFailed(query) ? none : null);
}

/** Reads the scenes again when one has changed, and after each handshake: changes may have been missed. */
export function followScenes(live: LiveService, queries: QueryClient): void {
  live.onMessage(({ type }) => {
    if (type === 'scenes_changed' || type === 'hello') void queries.invalidateQueries({ queryKey: scenesKey });
  });
}

import type { QueryClient } from '@tanstack/react-query';
import type { CloudStatus } from '@station/protocol/cloud';
import type { LiveService } from '../../api/live.ts';
import { claimKey, cloudActivityKey, cloudKey, cloudStatusKey, setAsideKey } from './keys.ts';

/** Keeps the state of the cloud link as the station tells it, and reads again what it only says has changed. */
export function followCloud(live: LiveService, queries: QueryClient): void {
  const readAgain = (queryKey: readonly unknown[]): void => void queries.invalidateQueries({ queryKey });
  live.onMessage((message) => {
    if (message.type === 'hello') readAgain(cloudKey);
    if (message.type !== 'cloud_status') return;
    const before = queries.getQueryData<CloudStatus>(cloudStatusKey);
    const { status } = message;
    queries.setQueryData(cloudStatusKey, status);
    if (before?.askedAt !== status.askedAt) readAgain(cloudActivityKey);
    if (before?.outbox.setAside !== status.outbox.setAside) readAgain(setAsideKey);
    // As long as nobody has claimed the station the code may be another one each time.
    if (status.claimedAt !== null && before?.claimedAt === status.claimedAt) return;
    // One of before is of no use: where it is not shown it is forgotten, so that it is not shown even for a moment.
    queries.removeQueries({ queryKey: claimKey, type: 'inactive' });
    readAgain(claimKey);
  });
}

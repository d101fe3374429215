import type { BackendConfig } from '../config.ts';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { SocketHub } from '../socket/hub.ts';
import type { Database } from '../store/schema.ts';
import type { Replicas } from './replicas.ts';

/** Null for a backend that is alone: it loads nothing of all this. */
export async function startSharing(
  { replicaId, database }: BackendConfig,
  { clock, logger }: { clock: Clock; logger: BackendLogger },
  db: Database,
  hub: SocketHub,
): Promise<Replicas | null> {
  if (replicaId === null || database.kind !== 'postgres') return null;
  const { startReplicas } = await import('./replicas.ts');
  return startReplicas({ id: replicaId, db, url: database.url, hub, clock, logger });
}

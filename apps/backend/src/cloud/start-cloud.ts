import { join } from 'node:path';
import type { BackendConfig } from '../config.ts';
import type { WriteAlong } from '../store/report-store.ts';
import { deriveSecrets } from '../core/secrets.ts';
import { openSecretBox } from '../store/secret-box.ts';
import type { Cloud, CloudParts } from './cloud.ts';
import { giveBackHome } from './home-accounts.ts';
import { enqueueReports } from './outbox-store.ts';

/** What is written with each batch of reports; nothing without a cloud. */
export const cloudWriteAlong = ({ cloud }: Pick<BackendConfig, 'cloud'>): WriteAlong | undefined =>
  cloud === null ? undefined : enqueueReports;

/**
 * The cloud link as the configuration wants it; null without one: then nothing of it is loaded, and the accounts of the house are as before it.
 * That is also the way back in for someone whom the cloud locked out: whoever has the machine starts the station without it.
 */
export async function startCloudOf(
  config: BackendConfig,
  parts: Omit<CloudParts, 'settings' | 'box'>,
): Promise<Cloud | null> {
  if (config.cloud === null) {
    const now = parts.clock.now();
    await parts.store.db.transaction().execute((transaction) => giveBackHome(transaction, now));
    return null;
  }
  const isShared = config.replicaId !== null && config.jwtSecret !== null;
  const key = isShared && config.jwtSecret !== null ? deriveSecrets(config.jwtSecret).settingsKey : undefined;
  const box = await openSecretBox({ disk: parts.disk, path: join(config.dataDir, 'settings-key'), key });
  const { startCloud } = await import('./cloud.ts');
  return startCloud({ ...parts, settings: config.cloud, box });
}

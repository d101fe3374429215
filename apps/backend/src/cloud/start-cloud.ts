import type { WriteAlong } from '../history/report-store.ts';
import type { Cloud, CloudParts } from './cloud.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { restoreHomeAccounts } from './home-accounts.ts';
import { enqueueReports } from './outbox-store.ts';

/** Writes the outbox together with each batch of reports; does nothing without a cloud. */
export const cloudWriteAlong = (settings: CloudSettings | null): WriteAlong | undefined =>
  settings === null ? undefined : enqueueReports;

/**
 * Starts the configured cloud link. Null without one: then its code is not loaded, and local accounts are restored. This is also the way
 * back for an owner whom the cloud locked out: start the station without CLOUD_HOST.
 */
export async function startCloudOf(
  settings: CloudSettings | null,
  parts: Omit<CloudParts, 'settings'>,
): Promise<Cloud | null> {
  if (settings === null) {
    const now = parts.clock.now();
    await parts.store.db.transaction().execute((transaction) => restoreHomeAccounts(transaction, now));
    return null;
  }
  const { startCloud } = await import('./cloud.ts');
  return startCloud({ ...parts, settings });
}

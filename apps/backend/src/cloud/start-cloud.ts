import type { WriteAlong } from '../store/report-store.ts';
import type { Cloud, CloudParts } from './cloud.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { restoreHomeAccounts } from './home-accounts.ts';
import { enqueueReports } from './outbox-store.ts';

/** What is written with each batch of reports; nothing without a cloud. */
export const cloudWriteAlong = (settings: CloudSettings | null): WriteAlong | undefined =>
  settings === null ? undefined : enqueueReports;

/**
 * The cloud link as the configuration wants it; null without one: then nothing of it is loaded, and the accounts of the house are as before it.
 * That is also the way back in for someone whom the cloud locked out: whoever has the machine starts the station without it.
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

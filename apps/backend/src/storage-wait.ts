import { basename, dirname, join } from 'node:path';
import { removeDurable, writeDurable } from '@station/kit/durable-files';
import type { StorageFault } from '@station/protocol/rest';
import { tryWriteLock } from './adapters/sqlite.ts';
import type { BackendConfig } from './config.ts';
import type { Host } from './core/host.ts';
import { errorOfFault, storageFaultOf } from './core/storage-faults.ts';
import { registerHealthRoute } from './http/health.ts';
import { guardHost } from './http/host-guard.ts';
import { closeInTime, createHttpServer } from './http/server.ts';
import { registerWebApp } from './http/web-app.ts';

const lookEveryMs = 3_000;

/**
 * Serves the web app, the health and the reason to every other request while nothing can be written: a card that became read-only, a full
 * disk, a database that another program has locked. Ends when a write succeeds, three seconds after its call at the earliest.
 * @throws the reason of `signal` when it is aborted.
 */
export async function serveUntilStorageWorks(config: BackendConfig, host: Host, signal: AbortSignal): Promise<void> {
  const { clock, logger } = host;
  let fault = await findFault(config, host);
  const app = createHttpServer({ logger });
  await using closing = new AsyncDisposableStack();
  closing.defer(() => closeInTime(app));
  guardHost(app, { publicUrl: config.deviceBroker.publicUrl, publicName: config.publicName });
  app.addHook('onRequest', async ({ url }) => {
    if (/^\/(api|ws|provisioning)(\/|$)/.test(url) && !url.startsWith('/api/health'))
      throw errorOfFault(fault ?? 'no answer');
  });
  const checks = { database: async () => fault ?? 'no answer', mqtt: async () => 'not connected' as const };
  await registerHealthRoute(app, { checks, version: config.version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await app.listen({ port: config.port, host: config.host });
  let told: StorageFault | null = null;
  do {
    if (fault !== told && fault !== null) logger.event('backend_waits_for_storage', { reason: fault });
    told = fault;
    await clock.sleep(lookEveryMs, signal);
    fault = await findFault(config, host);
  } while (fault !== null);
}

/** Writes a file, and asks for the write lock of the database. */
async function findFault({ dataDir, database }: BackendConfig, { disk }: Host): Promise<StorageFault | null> {
  const probe = join(dataDir, '.storage-probe');
  try {
    await writeDurable(disk, probe, 'x');
    await removeDurable(disk, probe);
    if (database.kind === 'sqlite' && (await disk.list(dirname(database.file))).includes(basename(database.file)))
      tryWriteLock(database.file);
    return null;
  } catch (error) {
    return storageFaultOf(error) ?? 'input/output error';
  }
}

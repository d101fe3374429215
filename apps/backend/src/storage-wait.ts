import { basename, dirname, join } from 'node:path';
import { removeDurable, writeDurable } from '@station/kit/durable-files';
import type { StorageFault } from '@station/protocol/rest';
import { tryWriteLock } from './core/adapters/sqlite.ts';
import type { BackendConfig } from './config.ts';
import type { Host } from './core/host.ts';
import { errorOfFault, storageFaultOf } from './core/storage-faults.ts';
import { registerHealthRoute } from './http/health.ts';
import { guardHost } from './http/host-guard.ts';
import { closeInTime, createHttpServer } from './http/server.ts';
import { registerWebApp } from './http/adapters/web-app.ts';

const lookEveryMs = 3_000;

/**
 * Serves the web app, the health and the reason to every other request while nothing can be written: a card that became read-only, a full
 * disk, a database that another program has locked. Ends when a write succeeds, three seconds after its call at the earliest.
 * @param options.reason why the start failed.
 * @throws the reason of `signal` when it is aborted.
 */
export async function serveUntilStorageWorks(
  config: BackendConfig,
  host: Host,
  { reason, signal }: { reason: StorageFault; signal: AbortSignal },
): Promise<void> {
  const { clock, logger } = host;
  let fault = (await findFault(config, host)) ?? reason;
  const app = createHttpServer({ logger });
  await using closing = new AsyncDisposableStack();
  closing.defer(() => closeInTime(app));
  guardHost(app, { publicUrl: config.deviceBroker.publicUrl, publicName: config.publicName });
  app.addHook('onRequest', async ({ url }) => {
    if (/^\/(api|ws|provisioning)(\/|$)/.test(url) && !url.startsWith('/api/health')) throw errorOfFault(fault);
  });
  const checks = { database: async () => fault, mqtt: async () => 'not connected' as const };
  await registerHealthRoute(app, { checks, version: config.version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await app.listen({ port: config.port, host: config.host });
  let told: StorageFault | null = null;
  for (;;) {
    if (fault !== told) logger.event('backend_waits_for_storage', { reason: fault });
    told = fault;
    await clock.sleep(lookEveryMs, signal);
    const found = await findFault(config, host);
    if (found === null) return;
    fault = found;
  }
}

/** Asks for the write lock of the database, which writes nothing, then writes a file. A damaged database is for the start to repair. */
async function findFault({ dataDir, database }: BackendConfig, { disk }: Host): Promise<StorageFault | null> {
  const probe = join(dataDir, '.storage-probe');
  try {
    if (database.kind === 'sqlite' && (await isLocked(database.file, disk))) return 'locked';
    await writeDurable(disk, probe, 'x');
    await removeDurable(disk, probe);
    return null;
  } catch (error) {
    return storageFaultOf(error) ?? 'input/output error';
  }
}

async function isLocked(file: string, disk: Host['disk']): Promise<boolean> {
  if (!(await disk.list(dirname(file))).includes(basename(file))) return false;
  try {
    tryWriteLock(file);
    return false;
  } catch (error) {
    return storageFaultOf(error) === 'locked';
  }
}

import type { Storage, StorageCall, StorageCalls, StorageTarget } from '../../core/backup-destination.ts';
import { createBackupFolder } from './backup-folder.ts';
import { createWebdav } from './backup-webdav.ts';
import type { StorageDriver } from './storage-driver.ts';

const driverOf = (target: StorageTarget): StorageDriver =>
  target.kind === 'folder' ? createBackupFolder(target) : createWebdav(target);

type Given = { path: string; name: string };

/** Storage that is used in this process, which it can hold up: the station's own disk, or a process of its own. */
export const storageHere: Storage = {
  ask: async <Call extends StorageCall>(
    target: StorageTarget,
    call: Call,
    given: StorageCalls[Call]['with'],
    { signal, onProgress = () => undefined }: Parameters<Storage['ask']>[3],
  ) => {
    const driver = driverOf(target);
    const { path, name } = given as Given;
    const calls: { [One in StorageCall]: () => Promise<StorageCalls[One]['answer'] | void> } = {
      prepare: () => driver.prepare(),
      list: () => driver.list(),
      put: () => driver.put(path, name, { signal, onProgress }),
      remove: () => driver.remove(name),
      check: () => driver.check(),
      tidy: () => driver.tidy(),
      state: () => driver.state(),
      mark: () => driver.mark(),
    };
    return (await calls[call]()) ?? null;
  },
  read: (target, name, { signal, onProgress = () => undefined }) => driverOf(target).read(name, { signal, onProgress }),
};

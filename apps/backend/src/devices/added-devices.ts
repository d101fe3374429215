import { Type } from 'typebox';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import type { DeviceEvents } from '../core/device-events.ts';
import type { DeviceStore } from '../store/device-store.ts';

/** External id → id of the device that was added with it last. */
const AddedDevices = Type.Record(Type.String(), Type.String());

export type AddedDevices = AsyncDisposable & {
  /** Whether a removed device was added again since. */
  wasAddedAgain(removal: { externalId: string; deviceId: string }): boolean;
};

const maxEntries = 20_000;

/**
 * Notes outside the database which devices were added. An older copy of the database may remember a device as removed that was added again
 * since: that device must not be told so.
 * @param path of the file; one in DATA_DIR.
 */
export async function openAddedDevices(parts: {
  disk: Disk;
  path: string;
  devices: Pick<DeviceStore, 'list'>;
  events: DeviceEvents;
  logger: BackendLogger;
}): Promise<AddedDevices> {
  const { disk, path, devices, events, logger } = parts;
  const file = createJsonFile({ disk, path, schema: AddedDevices });
  const read = await file.read();
  const added = new Map(Object.entries(read.kind === 'ok' ? read.value : {}));
  const { run } = createExclusiveRunner();
  const write = (): Promise<void> =>
    run(() => file.write(Object.fromEntries(added))).catch((error: unknown) =>
      logger.failed('noting added devices', error),
    );
  const note = (externalId: string, deviceId: string): boolean => {
    if (added.get(externalId) === deviceId) return false;
    const [oldest] = added.keys();
    if (added.size >= maxEntries && oldest !== undefined) added.delete(oldest);
    // At the end of the order, as the newest.
    added.delete(externalId);
    added.set(externalId, deviceId);
    return true;
  };
  const news = (await devices.list()).map(({ external_id: externalId, id }) => note(externalId, id));
  let writing = news.includes(true) ? write() : Promise.resolve();
  const following = events.subscribe((event) => {
    if (event.kind === 'added' && note(event.externalId, event.deviceId)) writing = write();
  });
  return {
    wasAddedAgain: ({ externalId, deviceId }) => (added.get(externalId) ?? deviceId) !== deviceId,
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      await writing;
    },
  };
}

import type { Clock } from '@station/kit/clock';
import type { FirmwareMode } from '@station/protocol/firmware-rollouts';
import { compareVersions, parseVersion } from '@station/protocol/version';
import type { Database, FirmwareImagesTable } from '../store/schema.ts';

export type FirmwareImage = FirmwareImagesTable;

export type ImageStore = {
  /** Of all types, or of one; newest version first. */
  list(type?: string): Promise<FirmwareImage[]>;
  find(type: string, version: string): Promise<FirmwareImage | null>;
  newest(type: string): Promise<FirmwareImage | null>;
  /** Takes what the agent handed over, once or again. @returns null when this version is known with other content. */
  put(image: Omit<FirmwareImage, 'ready_at'>): Promise<FirmwareImage | null>;
  modeOf(type: string): Promise<FirmwareMode>;
  setMode(type: string, mode: FirmwareMode): Promise<void>;
  /** How many devices of each type run which version. */
  installed(): Promise<{ type: string; version: string | null; devices: number }[]>;
};

export function createImageStore({ db, clock }: { db: Database; clock: Clock }): ImageStore {
  const list: ImageStore['list'] = async (type) => {
    const query = db.selectFrom('firmware_images').selectAll();
    const rows = await (type === undefined ? query : query.where('type', '=', type)).execute();
    return rows.sort((a, b) => a.type.localeCompare(b.type) || order(b.version, a.version));
  };
  const find: ImageStore['find'] = async (type, version) =>
    (await list(type)).find((image) => image.version === version) ?? null;
  /** The agent may serve the same file elsewhere by now. */
  const withPath = async (image: FirmwareImage, path: string | null): Promise<FirmwareImage> => {
    if (image.path === path) return image;
    const update = db.updateTable('firmware_images').set({ path });
    await update.where('type', '=', image.type).where('version', '=', image.version).execute();
    return { ...image, path };
  };
  return {
    list,
    find,
    newest: async (type) => (await list(type))[0] ?? null,
    put: async (image) => {
      const known = await find(image.type, image.version);
      if (known !== null) return known.checksum === image.checksum ? withPath(known, image.path) : null;
      const values = { ...image, ready_at: clock.now() };
      await db.insertInto('firmware_images').values(values).execute();
      return values;
    },
    modeOf: async (type) => {
      const query = db.selectFrom('firmware_modes').select('mode').where('type', '=', type);
      return (await query.executeTakeFirst())?.mode ?? 'automatic';
    },
    setMode: async (type, mode) => {
      const values = { mode, updated_at: clock.now() };
      await db
        .insertInto('firmware_modes')
        .values({ type, ...values })
        .onConflict((conflict) => conflict.column('type').doUpdateSet(values))
        .execute();
    },
    installed: async () => {
      const count = db.fn.countAll<number>().as('devices');
      const query = db.selectFrom('devices').select(['type', 'firmware_version as version', count]);
      const rows = await query.groupBy(['type', 'firmware_version']).orderBy('type').execute();
      return rows.map((row) => ({ ...row, devices: Number(row.devices) }));
    },
  };
}

function order(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  return left !== null && right !== null ? compareVersions(left, right) : a.localeCompare(b);
}

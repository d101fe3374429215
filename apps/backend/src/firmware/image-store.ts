import type { Clock } from '@station/kit/clock';
import { compareVersions, parseVersion } from '@station/protocol/version';
import { isOwnDevice } from '../store/device-store.ts';
import type { Database } from '../store/schema.ts';
import type { FirmwareImagesTable } from './firmware-tables.ts';

/** `name`: `<type>` or `<chip>-<type>`. */
export type FirmwareImage = Omit<FirmwareImagesTable, 'type'> & { name: string };

export type ImageStore = {
  /** Of all names, or of one; newest version first. */
  list(name?: string): Promise<FirmwareImage[]>;
  find(name: string, version: string): Promise<FirmwareImage | null>;
  newest(name: string): Promise<FirmwareImage | null>;
  /** Takes what the agent handed over, once or again. @returns null when this version is known with other content. */
  put(image: Omit<FirmwareImage, 'ready_at'>): Promise<FirmwareImage | null>;
  /** How many devices of each type and chip run which version. */
  installed(): Promise<{ type: string; chip: string | null; version: string | null; devices: number }[]>;
};

export function createImageStore({ db, clock }: { db: Database; clock: Clock }): ImageStore {
  const list: ImageStore['list'] = async (name) => {
    const query = db.selectFrom('firmware_images').selectAll();
    const rows = await (name === undefined ? query : query.where('type', '=', name)).execute();
    return rows
      .map(({ type, ...image }) => ({ ...image, name: type }))
      .sort((a, b) => a.name.localeCompare(b.name) || orderVersions(b.version, a.version));
  };
  const find: ImageStore['find'] = async (name, version) =>
    (await list(name)).find((image) => image.version === version) ?? null;
  /** By now the agent may serve the same file elsewhere, or a person wants to be asked about it, or no longer. */
  const updated = async (known: FirmwareImage, image: Omit<FirmwareImage, 'ready_at'>): Promise<FirmwareImage> => {
    const { path, needs_approval } = image;
    if (known.path === path && known.needs_approval === needs_approval) return known;
    const update = db.updateTable('firmware_images').set({ path, needs_approval });
    await update.where('type', '=', known.name).where('version', '=', known.version).execute();
    return { ...known, path, needs_approval };
  };
  return {
    list,
    find,
    newest: async (name) => (await list(name))[0] ?? null,
    put: async (image) => {
      const known = await find(image.name, image.version);
      if (known !== null) return known.checksum === image.checksum ? updated(known, image) : null;
      const { name, ...values } = { ...image, ready_at: clock.now() };
      await db
        .insertInto('firmware_images')
        .values({ ...values, type: name })
        .execute();
      return { ...values, name };
    },
    installed: async () => {
      const count = db.fn.countAll<number>().as('devices');
      const query = db.selectFrom('devices').select(['type', 'chip', 'firmware_version as version', count]);
      const rows = await query
        .where(isOwnDevice)
        .groupBy(['type', 'chip', 'firmware_version'])
        .orderBy('type')
        .execute();
      return rows.map((row) => ({ ...row, devices: Number(row.devices) }));
    },
  };
}

/** Negative when the first is the older one. */
export function orderVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  return left !== null && right !== null ? compareVersions(left, right) : a.localeCompare(b);
}

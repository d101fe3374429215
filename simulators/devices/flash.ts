import { createHash } from 'node:crypto';
import { mkdirSync, appendFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspectImage, type ImageInspection } from '@station/protocol/firmware-image';
import { buildImage } from '../firmware/image-builder.ts';

/** Storage that survives a power cut. Calls return after the write. */
export type FlashStore = {
  read(name: string): Buffer | null;
  append(name: string, bytes: Uint8Array): void;
  truncate(name: string, length: number): void;
  /** Atomic, as on a real flash, whose records have checksums. */
  replace(name: string, bytes: Uint8Array): void;
  remove(name: string): void;
};

export function memoryStore(): FlashStore {
  const areas = new Map<string, Buffer>();
  return {
    read: (name) => areas.get(name) ?? null,
    append: (name, bytes) => void areas.set(name, Buffer.concat([areas.get(name) ?? Buffer.alloc(0), bytes])),
    truncate: (name, length) => void areas.set(name, (areas.get(name) ?? Buffer.alloc(0)).subarray(0, length)),
    replace: (name, bytes) => void areas.set(name, Buffer.from(bytes)),
    remove: (name) => void areas.delete(name),
  };
}

/** Stores the flash in files, so that it survives a restart of this process. */
export function folderStore(folder: string): FlashStore {
  mkdirSync(folder, { recursive: true });
  const path = (name: string): string => join(folder, name);
  return {
    read: (name) => {
      try {
        return readFileSync(path(name));
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
    },
    append: (name, bytes) => appendFileSync(path(name), bytes),
    truncate: (name, length) => truncateSync(path(name), length),
    replace: (name, bytes) => {
      writeFileSync(path(`${name}.new`), bytes);
      renameSync(path(`${name}.new`), path(name));
    },
    remove: (name) => rmSync(path(name), { force: true }),
  };
}

/** The image of an update command. `checksum` is `sha256:<hex>`, `size` is in bytes. */
export type ImageOrder = { version: string; checksum: string; size: number };

type Running = {
  version: string;
  /** First start of the image. A restart before `confirm` boots the previous image. */
  isOnTrial: boolean;
  /** Built to crash at its start: its project or version ends in `-crash`. */
  isCrashing: boolean;
};

export type Flash = {
  /** Does what the bootloader does at each start. */
  boot(): Running;
  /** Result of the last `boot`. */
  running(): Running;
  /** Keeps the running image. */
  confirm(): void;
  /** Prepares the unused slot for an image. @returns how many of its bytes are already written. */
  begin(order: ImageOrder): number;
  /** ETag of the written bytes; null when unknown. */
  etag(): string | null;
  /** Discards the received bytes; the next write is the first byte. */
  restart(etag: string | null): void;
  write(bytes: Uint8Array): void;
  /** All bytes received so far, also those from before `begin`. */
  received(): Buffer;
  /** Selects the received image for the next boot. */
  select(): void;
  /** Discards the received bytes. */
  discard(): void;
};

type SlotState = 'empty' | 'receiving' | 'new' | 'trial' | 'good' | 'bad';
type Record = {
  /** The slot to boot. */
  slot: number;
  states: [SlotState, SlotState];
  order: (ImageOrder & { etag: string | null }) | null;
};

/** A sector is erased as a whole. After a power cut, the sector that was being written is not trusted. */
export const sectorBytes = 4096;
const recordName = 'otadata';
const slotName = (slot: number): string => `slot${slot}`;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/**
 * A flash with two slots and the bootloader's record, as an ESP32 has them (ESP-IDF, "Over The Air Updates", app rollback): a new image is
 * on trial at its first start. If it is not confirmed then, it is never started again.
 * @param factory content of the first slot when the store is empty.
 */
export function openFlash(store: FlashStore, factory: { project: string; version: string; chip: string }): Flash {
  if (store.read(recordName) === null) {
    store.replace(slotName(0), buildImage({ ...factory, bytes: 1024 }));
    const record: Record = { slot: 0, states: ['good', 'empty'], order: null };
    store.replace(recordName, Buffer.from(JSON.stringify(record)));
  }
  let record = JSON.parse((store.read(recordName) as Buffer).toString('utf8')) as Record;
  let running: Running | null = null;
  const save = (change: Partial<Record>): void => {
    record = { ...record, ...change };
    store.replace(recordName, Buffer.from(JSON.stringify(record)));
  };
  const withState = (slot: number, state: SlotState): [SlotState, SlotState] =>
    record.states.map((before, index) => (index === slot ? state : before)) as [SlotState, SlotState];
  const inspect = (slot: number): ImageInspection =>
    inspectImage(store.read(slotName(slot)) ?? Buffer.alloc(0), sha256);
  const spare = (): number => 1 - record.slot;
  const area = (): string => slotName(spare());
  const received = (): Buffer => (record.order === null ? null : store.read(area())) ?? Buffer.alloc(0);
  const restart = (etag: string | null): void => {
    store.replace(area(), Buffer.alloc(0));
    if (record.order !== null) save({ order: { ...record.order, etag } });
  };

  return {
    boot: () => {
      const state = record.states[record.slot];
      const image = inspect(record.slot);
      if (state === 'trial' || image.kind !== 'application') {
        save({ slot: spare(), states: withState(record.slot, 'bad') });
      } else if (state === 'new') save({ states: withState(record.slot, 'trial') });
      const started = inspect(record.slot);
      if (started.kind !== 'application') throw new Error('neither slot has an image that can be booted');
      const { project, descriptorVersion: version } = started;
      const isCrashing = [project, version].some((text) => text.endsWith('-crash'));
      running = { version, isCrashing, isOnTrial: record.states[record.slot] === 'trial' };
      return running;
    },
    running: () => running ?? { version: factory.version, isOnTrial: false, isCrashing: false },
    confirm: () => {
      if (running?.isOnTrial !== true) return;
      save({ states: withState(record.slot, 'good') });
      running = { ...running, isOnTrial: false };
    },
    begin: (order) => {
      if (record.order?.checksum === order.checksum && record.states[spare()] === 'receiving') {
        const kept = Math.max(0, Math.floor((received().length - 1) / sectorBytes) * sectorBytes);
        if (store.read(area()) === null) restart(null);
        else store.truncate(area(), kept);
        return kept;
      }
      save({ order: { ...order, etag: null }, states: withState(spare(), 'receiving') });
      restart(null);
      return 0;
    },
    etag: () => record.order?.etag ?? null,
    restart,
    write: (bytes) => store.append(area(), bytes),
    received,
    select: () => save({ slot: spare(), states: withState(spare(), 'new'), order: null }),
    discard: () => {
      save({ order: null, states: withState(spare(), 'empty') });
      store.remove(area());
    },
  };
}

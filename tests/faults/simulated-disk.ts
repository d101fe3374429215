import { basename, dirname } from 'node:path';
import type { Disk } from '@station/kit/durable-files';
import type { Choose } from './choice.ts';
import type { SimulatedProcess } from './process.ts';

/**
 * A file system with a page cache, as plain data, so that many crashes can start from one state. Readers see everything
 * written; `cutDisk` decides what a power cut leaves.
 */
export type DiskState = {
  /** Name → inode, as every process sees it. */
  names: Map<string, number>;
  /**
   * Names that changed since the last sync of their directory → the inodes they had since then, the durable one first.
   */
  earlierNames: Map<string, readonly (number | null)[]>;
  inodes: Map<number, Inode>;
  nextInode: number;
};

type Inode =
  | { kind: 'directory' }
  /** A file on a worn part of the card. */
  | { kind: 'unreadable' }
  | {
      kind: 'file';
      content: Uint8Array;
      /**
       * Contents since the last fsync, the durable one first (empty when there never was an fsync); null: everything is
       * synced.
       */
      earlier: readonly Uint8Array[] | null;
      /** Number of first bytes that survive every power cut: they were synced, and only appended to since. */
      durableBytes?: number;
    };

/** The fault to throw instead of an operation; null: the operation works. */
export type DiskFault = (operation: string, path: string) => NodeJS.ErrnoException | null;

const nothing = new Uint8Array(0);

export function emptyDisk(): DiskState {
  return {
    names: new Map([['/', 1]]),
    earlierNames: new Map(),
    inodes: new Map([[1, { kind: 'directory' }]]),
    nextInode: 2,
  };
}

/** Inodes and lists are replaced, never changed, so copying the maps is a complete copy. */
export function copyDisk(state: DiskState): DiskState {
  return {
    names: new Map(state.names),
    earlierNames: new Map(state.earlierNames),
    inodes: new Map(state.inodes),
    nextInode: state.nextInode,
  };
}

/** True when a power cut now could leave more than one state. */
export function isDiskOpen(state: DiskState): boolean {
  return state.earlierNames.size > 0 || [...state.inodes.values()].some(isOpen);
}

/** All written data reaches the disk, as it does automatically after a while. */
export function flushDisk(state: DiskState): void {
  state.earlierNames.clear();
  for (const [id, inode] of state.inodes) if (isOpen(inode)) state.inodes.set(id, { ...inode, earlier: null });
}

export function readNow(state: DiskState, path: string): Uint8Array | null {
  const inode = inodeAt(state, path);
  return inode?.kind === 'file' ? inode.content : null;
}

/** The disk as a process sees it. Reads change nothing, so they are not crash points. */
export function createSimulatedDisk(state: DiskState, process: SimulatedProcess, fault: DiskFault = () => null): Disk {
  const act = (operation: string, path: string): void => {
    process.point(`disk.${operation} ${basename(path)}`);
    throwFault(fault(operation, path));
  };
  return {
    read: async (path) => {
      process.alive();
      throwFault(fault('read', path));
      const kind = inodeAt(state, path)?.kind;
      if (kind === 'directory') throw systemError('EISDIR', 'read', path);
      if (kind === 'unreadable') throw systemError('EIO', 'read', path);
      return readNow(state, path);
    },
    list: async (directory) => {
      process.alive();
      throwFault(fault('list', directory));
      return [...state.names.keys()]
        .filter((name) => name !== '/' && dirname(name) === directory)
        .map((n) => basename(n));
    },
    makeDirectory: async (path) => {
      act('makeDirectory', path);
      makeDirectories(state, path);
    },
    write: async (path, bytes) => {
      act('write', path);
      writeFile(state, path, bytes);
    },
    sync: async (path) => {
      act('sync', path);
      syncPath(state, path);
    },
    rename: async (from, to) => {
      act('rename', to);
      const id = state.names.get(from);
      if (id === undefined) throw systemError('ENOENT', 'rename', from);
      if (inodeAt(state, to)?.kind === 'directory') throw systemError('EISDIR', 'rename', to);
      setName(state, to, id);
      setName(state, from, null);
    },
    remove: async (path) => {
      if (!state.names.has(path)) {
        process.alive();
        return;
      }
      act('remove', path);
      setName(state, path, null);
    },
  };
}

/**
 * Cuts the power. For each unsynced content and name, one of the values that a file system may have kept is chosen
 * independently. So a name may survive without its content (zero length), and the reverse.
 */
export function cutDisk(state: DiskState, choose: Choose): void {
  for (const [name, earlier] of state.earlierNames) {
    const candidates = [...new Set([...earlier, state.names.get(name) ?? null])];
    const kept = candidates[choose('name', candidates.length)] ?? null;
    if (kept === null) state.names.delete(name);
    else state.names.set(name, kept);
  }
  state.earlierNames.clear();
  for (const [id, inode] of state.inodes) {
    if (!isOpen(inode)) continue;
    const candidates = survivingContents(inode, choose);
    const content = candidates[choose('content', candidates.length)] ?? nothing;
    state.inodes.set(id, { kind: 'file', content, earlier: null });
  }
  dropLostNames(state);
}

/**
 * Possible contents after a power cut: the previous one, nothing, a torn part, zeros in place of data, or everything.
 */
function survivingContents(inode: OpenFile, choose: Choose): Uint8Array[] {
  const { earlier, content: latest, durableBytes = 0 } = inode;
  const cutAt = Math.max(durableBytes, choose('content', latest.length + 1));
  const zeroFilled = new Uint8Array(latest.length);
  zeroFilled.set(latest.subarray(0, Math.max(durableBytes, Math.min(cutAt, latest.length - 1))));
  return [...earlier, latest.subarray(0, durableBytes), latest.subarray(0, cutAt), zeroFilled, latest];
}

/** A lost directory loses its whole content. */
function dropLostNames(state: DiskState): void {
  const isLost = (name: string): boolean => name !== '/' && (!state.names.has(dirname(name)) || isLost(dirname(name)));
  for (const name of [...state.names.keys()]) if (isLost(name)) state.names.delete(name);
}

function makeDirectories(state: DiskState, path: string): void {
  if (state.names.has(path)) return;
  makeDirectories(state, dirname(path));
  const id = state.nextInode++;
  state.inodes.set(id, { kind: 'directory' });
  setName(state, path, id);
}

/** Truncates and writes in place: the inode stays, as with open(2) and O_TRUNC. */
function writeFile(state: DiskState, path: string, bytes: Uint8Array): void {
  if (inodeAt(state, dirname(path))?.kind !== 'directory') throw systemError('ENOENT', 'open', path);
  const id = state.names.get(path) ?? state.nextInode++;
  const before = state.inodes.get(id);
  if (before !== undefined && before.kind !== 'file') throw systemError('EIO', 'open', path);
  const earlier =
    before === undefined ? [] : before.earlier === null ? [before.content] : [...before.earlier, before.content];
  state.inodes.set(id, { kind: 'file', content: Uint8Array.from(bytes), earlier });
  if (before === undefined) setName(state, path, id);
}

/** Appends to a file, or creates it. The synced part survives in any case. */
export function appendFile(state: DiskState, path: string, bytes: Uint8Array): void {
  const before = inodeAt(state, path);
  if (before === undefined) return writeFile(state, path, bytes);
  if (before.kind !== 'file') throw systemError('EIO', 'open', path);
  changeContent(state, path, before, Buffer.concat([before.content, bytes]));
}

/** Truncates a file to its first bytes. */
export function truncateFile(state: DiskState, path: string, size: number): void {
  const before = inodeAt(state, path);
  if (before?.kind !== 'file') throw systemError('ENOENT', 'open', path);
  changeContent(state, path, before, before.content.subarray(0, size));
}

function changeContent(state: DiskState, path: string, before: FileInode, content: Uint8Array): void {
  const durable = before.earlier === null ? before.content.length : (before.durableBytes ?? 0);
  const earlier = [...(before.earlier ?? []), before.content];
  const durableBytes = Math.min(durable, content.length);
  const id = state.names.get(path);
  if (id !== undefined)
    state.inodes.set(id, { kind: 'file', content: Uint8Array.from(content), earlier, durableBytes });
}

/** POSIX fsync: for a file it syncs the content, for a directory the names in it; never both. */
function syncPath(state: DiskState, path: string): void {
  const id = state.names.get(path);
  const inode = id === undefined ? undefined : state.inodes.get(id);
  if (id === undefined || inode === undefined) throw systemError('ENOENT', 'open', path);
  if (inode.kind === 'file') {
    state.inodes.set(id, { kind: 'file', content: inode.content, earlier: null });
    return;
  }
  if (inode.kind === 'unreadable') throw systemError('EIO', 'fsync', path);
  for (const name of [...state.earlierNames.keys()]) if (dirname(name) === path) state.earlierNames.delete(name);
}

function setName(state: DiskState, name: string, id: number | null): void {
  const before = state.names.get(name) ?? null;
  state.earlierNames.set(name, [...(state.earlierNames.get(name) ?? []), before]);
  if (id === null) state.names.delete(name);
  else state.names.set(name, id);
}

const inodeAt = (state: DiskState, path: string): Inode | undefined => {
  const id = state.names.get(path);
  return id === undefined ? undefined : state.inodes.get(id);
};

type FileInode = Extract<Inode, { kind: 'file' }>;
type OpenFile = FileInode & { earlier: readonly Uint8Array[] };

const isOpen = (inode: Inode): inode is OpenFile => inode.kind === 'file' && inode.earlier !== null;

function throwFault(fault: NodeJS.ErrnoException | null): void {
  if (fault) throw fault;
}

/** The error that Node's file system throws. */
export function systemError(code: string, syscall: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}

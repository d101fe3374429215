import type { StorageFault } from '@station/protocol/rest';
import type { DiskSpace } from '../core/space.ts';

/** Times are monotonic milliseconds. */
type StorageFacts = {
  nowMs: number;
  /** The latest write that failed; null: none did. */
  failed: { fault: StorageFault; atMs: number } | null;
  /** The latest write that succeeded; null: none did. */
  writtenMs: number | null;
  /** Null: not known. */
  freeBytes: number | null;
};

/**
 * Failures must have ended for this long. On a full disk a small write may succeed in space that the database already has, between
 * larger ones that fail.
 */
export const calmMs = 3_000;
/** With less free space an input/output error means a full disk. */
const emptyBytes = 1024 * 1024;

/** Why nothing can be written now; null: writes succeed. */
export function decideStorageFault({ nowMs, failed, writtenMs, freeBytes }: StorageFacts): StorageFault | null {
  if (failed === null) return null;
  const isOver = writtenMs !== null && writtenMs > failed.atMs && nowMs - failed.atMs >= calmMs;
  if (isOver) return null;
  const isFull = failed.fault === 'input/output error' && freeBytes !== null && freeBytes < emptyBytes;
  return isFull ? 'disk full' : failed.fault;
}

const mebibyte = 1024 * 1024;

/** Below this much free space people are warned: a twentieth of the disk, between 32 and 512 MiB. Below half of it history is deleted. */
export const lowBytes = (totalBytes: number): number =>
  Math.min(512 * mebibyte, Math.max(32 * mebibyte, totalBytes / 20));

/** How much more must be free before the warning ends, so that it does not come and go. */
const endFactor = 1.25;

/**
 * What to do about free space.
 * @param wasLow whether the warning is shown.
 * @returns `missingBytes`: how much history should go. `hasRoom`: the disk is no longer nearly full, for now.
 */
export function decideSpace(
  { freeBytes, totalBytes }: DiskSpace,
  wasLow: boolean,
): { isLow: boolean; missingBytes: number; hasRoom: boolean } {
  const low = lowBytes(totalBytes);
  return {
    isLow: freeBytes < (wasLow ? low * endFactor : low),
    missingBytes: Math.max(0, Math.ceil(low / 2 - freeBytes)),
    hasRoom: freeBytes >= low * endFactor,
  };
}

/** Who takes most of a nearly full disk. `freeMb` and the others are whole steps of 10 MB, so that not every look is news. */
export type SpaceDetails = { freeMb: number; databaseMb: number; otherMb: number; filledBy: 'database' | 'other' };

/** @param databaseBytes what the database and its copies take. */
export function decideFiller({ freeBytes, totalBytes }: DiskSpace, databaseBytes: number): SpaceDetails {
  const otherBytes = Math.max(0, totalBytes - freeBytes - databaseBytes);
  const inSteps = (bytes: number): number => Math.floor(bytes / mebibyte / 10) * 10;
  return {
    freeMb: inSteps(freeBytes),
    databaseMb: inSteps(databaseBytes),
    otherMb: inSteps(otherBytes),
    filledBy: databaseBytes > otherBytes ? 'database' : 'other',
  };
}

import type { commonFindings } from '@station/protocol/doctor-findings';
import type { CheckOutcome, Finding } from './doctor-decide.ts';

/** What is found about the machine below a program: disks, clock, name resolution. */
type MachineCode = keyof typeof commonFindings;
type Outcome = CheckOutcome<MachineCode>;

/** Space of a file system, for an ordinary user. */
export type DiskSpace = {
  folder: string;
  freeBytes: number;
  sizeBytes: number;
  /** Null: the file system has no fixed number of files. */
  freeFiles: number | null;
};

const MiB = 2 ** 20;
/** A share of the disk, within limits: a tenth of a small card is little, a tenth of a large disk is plenty. */
const shareOf = (size: number, share: number, least: number, most: number): number =>
  Math.max(least, Math.min(size * share, most));
const fewFiles = 1000;

export function decideDiskSpace(disks: readonly DiskSpace[]): Outcome {
  const findings = disks.flatMap(({ folder, freeBytes, sizeBytes, freeFiles }): Finding<MachineCode>[] => {
    const values = { folder, free: formatBytes(freeBytes), size: formatBytes(sizeBytes) };
    const found: Finding<MachineCode>[] = [];
    if (freeBytes < shareOf(sizeBytes, 0.01, 16 * MiB, 200 * MiB)) found.push({ code: 'disk_full', values });
    else if (freeBytes < shareOf(sizeBytes, 0.1, 64 * MiB, 1024 * MiB))
      found.push({ code: 'disk_nearly_full', values });
    if (freeFiles !== null && freeFiles < fewFiles) {
      found.push({ code: 'disk_files_used_up', values: { folder, free: String(freeFiles) } });
    }
    return found;
  });
  const detail = disks.map(({ folder, freeBytes, sizeBytes }) => `${folder} ${amounts(freeBytes, sizeBytes)}`);
  return { detail: detail.join(', ') || null, findings };
}

const amounts = (free: number, size: number): string => `${formatBytes(free)} / ${formatBytes(size)}`;

/** What the kernel says about the disk of a folder. */
export type DiskHealth = {
  folder: string;
  /** Kernel name of the partition, e.g. mmcblk0p2; null: the file system is on no block device. */
  device: string | null;
  isReadOnly: boolean;
  /** ext4 counts its errors since the last repair. Times in seconds since the epoch; 0: unknown. Null: not ext4. */
  errors: { count: number; firstAt: number; lastAt: number } | null;
  /** Null: the disk does not say. */
  wear: DiskWear | null;
  /** To the whole disk, by everybody, since the machine was started; null: it is no block device. */
  writtenBytes: number | null;
};

/** Of an eMMC (JEDEC 84-B51, EXT_CSD registers 267 to 269). */
export type DiskWear = {
  /** Used share of its life in percent, rounded up to ten; null: unknown. More than 100: exceeded. */
  usedPercent: number | null;
  /** Its reserve blocks: 1 normal, 2 most are used, 3 nearly all are used; 0 unknown. */
  reserve: number;
};

const wornPercent = 90;

export function decideDiskHealth(disks: readonly DiskHealth[]): Outcome {
  const findings = disks.flatMap(({ folder, device: name, isReadOnly, errors, wear }): Finding<MachineCode>[] => {
    const device = name ?? folder;
    const found: Finding<MachineCode>[] = [];
    if (isReadOnly) found.push({ code: 'disk_read_only', values: { folder, device } });
    if (errors !== null && errors.count > 0) {
      const { count, firstAt, lastAt } = errors;
      const values = { device, count: String(count), first: timeOf(firstAt), last: timeOf(lastAt) };
      found.push({ code: 'disk_errors', values });
    }
    const used = wear?.usedPercent ?? 0;
    if (used > 100 || wear?.reserve === 3) found.push({ code: 'disk_worn_out', values: { device } });
    else if (used >= wornPercent || wear?.reserve === 2) {
      found.push({ code: 'disk_worn', values: { device, percent: used === 0 ? '?' : String(used) } });
    }
    return found;
  });
  const known = disks.flatMap(({ folder, device }) => (device === null ? [] : [`${folder} ${device}`]));
  return { detail: known.join(', ') || null, findings: distinct(findings) };
}

/** Two folders are often on one disk. */
const distinct = (findings: readonly Finding<MachineCode>[]): Finding<MachineCode>[] => [
  ...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values(),
];

/** A clock that was never set counts from 1970, or from the day its system was built. */
const timeOf = (seconds: number): string => (seconds > 0 ? new Date(seconds * 1000).toISOString() : '?');

/** Files may be written by a machine whose clock is a little ahead. */
const toleratedMs = 5 * 60_000;

/**
 * @param facts.knownAt a time that has passed for certain, e.g. when a file was written; null: none is known.
 * @param facts.isSynchronised by network time; null: it is not known here.
 */
export function decideClock(facts: { now: number; knownAt: number | null; isSynchronised: boolean | null }): Outcome {
  const { now, knownAt, isSynchronised } = facts;
  const iso = (at: number): string => new Date(at).toISOString();
  const findings: Finding<MachineCode>[] = [];
  if (knownAt !== null && now < knownAt - toleratedMs) {
    findings.push({ code: 'clock_wrong', values: { now: iso(now), known: iso(knownAt) } });
  } else if (isSynchronised === false) findings.push({ code: 'clock_not_synchronised', values: {} });
  return { detail: iso(now), findings };
}

/** Result of a name lookup: addresses, or why there are none. */
export type Lookup = { host: string; failure: string | null };

/** Null: no name is in use. */
export function decideNames(lookups: readonly Lookup[]): Outcome | null {
  if (lookups.length === 0) return null;
  const findings = lookups.flatMap(({ host, failure }): Finding<MachineCode>[] =>
    failure === null ? [] : [{ code: 'name_unresolved', values: { host, reason: failure } }],
  );
  return { detail: lookups.map(({ host }) => host).join(', '), findings };
}

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Bytes for people, in powers of ten: 1.2 GB. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** The mount that a path is on. */
export type Mount = { majorMinor: string; type: string; source: string; isReadOnly: boolean };

/** Set by ext4 after an error: newer kernels keep the mount writable in name. */
const unwritable = ['ro', 'emergency_ro', 'shutdown'];

/**
 * Finds the mount of a path in /proc/self/mountinfo (proc(5)).
 * @param path absolute, without symbolic links.
 */
export function mountOf(mountinfo: string, path: string): Mount | null {
  let best: (Mount & { point: string }) | null = null;
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , majorMinor = '', , escaped = '', options = ''] = before.split(' ');
    const [type = '', source = '', superOptions = ''] = after.split(' ');
    const point = escaped.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)));
    const holds = point !== '' && (point === '/' || path === point || path.startsWith(`${point}/`));
    // Of equal points the later mount covers the earlier one.
    if (!holds || (best !== null && best.point.length > point.length)) continue;
    const isReadOnly = [...options.split(','), ...superOptions.split(',')].some((one) => unwritable.includes(one));
    best = { point, majorMinor, type, source, isReadOnly };
  }
  return best;
}

/**
 * Bytes written since the machine was started, from /sys/block/NAME/stat (Documentation/block/stat.rst): the seventh number, in sectors of
 * 512 bytes on every disk. Null: it is not there.
 */
export function writtenOf(stat: string | null): number | null {
  const sectors = Number(stat?.trim().split(/\s+/)[6]);
  return Number.isFinite(sectors) ? sectors * 512 : null;
}

/**
 * Wear of an eMMC from /sys/block/NAME/device/life_time (`0x01 0x02`: two kinds of cells, in steps of 10 %) and pre_eol_info.
 * Null: the card does not say.
 */
export function wearOf(lifeTime: string | null, reserve: string | null): DiskWear | null {
  if (lifeTime === null && reserve === null) return null;
  const steps = (lifeTime ?? '')
    .trim()
    .split(/\s+/)
    .map(Number)
    .filter((step) => step > 0);
  const worst = steps.length === 0 ? null : Math.max(...steps);
  return { usedPercent: worst === null ? null : worst * 10, reserve: Number((reserve ?? '0').trim()) || 0 };
}

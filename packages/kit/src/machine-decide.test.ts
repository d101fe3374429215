import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideClock,
  decideDiskHealth,
  decideDiskSpace,
  type DiskHealth,
  formatBytes,
  mountOf,
  wearOf,
  writtenOf,
} from './machine-decide.ts';

const MB = 1e6;
const GB = 1e9;

test('space is judged by a share of the disk, within limits', () => {
  const table = [
    { free: 20 * GB, size: 32 * GB, expected: [] },
    { free: 0.9 * GB, size: 32 * GB, expected: ['disk_nearly_full'] },
    { free: 100 * MB, size: 32 * GB, expected: ['disk_full'] },
    { free: 10 * MB, size: 100 * MB, expected: ['disk_full'] },
    { free: 60 * MB, size: 100 * MB, expected: ['disk_nearly_full'] },
    // A tenth of a large disk is plenty.
    { free: 50 * GB, size: 1000 * GB, expected: [] },
  ];
  for (const { free, size, expected } of table) {
    const disk = { folder: '/data', freeBytes: free, sizeBytes: size, freeFiles: null };
    assert.deepEqual(codes(decideDiskSpace([disk])), expected, `${free} of ${size}`);
  }
  const noFiles = { folder: '/data', freeBytes: 20 * GB, sizeBytes: 32 * GB, freeFiles: 12 };
  assert.deepEqual(codes(decideDiskSpace([noFiles])), ['disk_files_used_up']);
});

test('what was written is counted in sectors of 512 bytes, and unknown where the kernel does not count', () => {
  const stat = ' 1515924   122120 63047082  3153970 18073850  6384194 1222917952 10833345        0  2034740 15090516\n';
  assert.equal(writtenOf(stat), 1222917952 * 512);
  // Kernels before 4.18 have 11 numbers, a partition of early ones four.
  for (const text of [null, '', '1 2 3 4']) assert.equal(writtenOf(text), null);
});

test('errors, wear and a read-only mount are found, once for two folders on one disk', () => {
  const good: DiskHealth = {
    folder: '/a',
    device: 'mmcblk0p2',
    isReadOnly: false,
    errors: null,
    wear: null,
    writtenBytes: null,
  };
  const table: { facts: Partial<DiskHealth>; expected: string[] }[] = [
    { facts: {}, expected: [] },
    { facts: { isReadOnly: true }, expected: ['disk_read_only'] },
    { facts: { errors: { count: 0, firstAt: 0, lastAt: 0 } }, expected: [] },
    { facts: { errors: { count: 3, firstAt: 0, lastAt: 1_700_000_000 } }, expected: ['disk_errors'] },
    { facts: { wear: { usedPercent: 80, reserve: 1 } }, expected: [] },
    { facts: { wear: { usedPercent: 90, reserve: 1 } }, expected: ['disk_worn'] },
    { facts: { wear: { usedPercent: null, reserve: 2 } }, expected: ['disk_worn'] },
    { facts: { wear: { usedPercent: 110, reserve: 1 } }, expected: ['disk_worn_out'] },
    { facts: { wear: { usedPercent: 10, reserve: 3 } }, expected: ['disk_worn_out'] },
  ];
  for (const { facts, expected } of table) assert.deepEqual(codes(decideDiskHealth([{ ...good, ...facts }])), expected);
  const worn: DiskHealth = { ...good, wear: { usedPercent: 90, reserve: 1 } };
  assert.deepEqual(codes(decideDiskHealth([worn, { ...worn, folder: '/b' }])), ['disk_worn']);
});

test('the life of an eMMC is read from both kinds of its cells', () => {
  assert.deepEqual(wearOf('0x01 0x09', '0x01'), { usedPercent: 90, reserve: 1 });
  assert.deepEqual(wearOf('0x00 0x00', null), { usedPercent: null, reserve: 0 });
  assert.deepEqual(wearOf(null, '0x03'), { usedPercent: null, reserve: 3 });
  assert.equal(wearOf(null, null), null);
});

test('the clock is wrong when it is behind what was written', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const table = [
    { knownAt: now - 1000, isSynchronised: null, expected: [] },
    { knownAt: null, isSynchronised: true, expected: [] },
    { knownAt: null, isSynchronised: false, expected: ['clock_not_synchronised'] },
    { knownAt: now + 60_000, isSynchronised: true, expected: [] },
    { knownAt: now + 600_000, isSynchronised: false, expected: ['clock_wrong'] },
  ];
  for (const { expected, ...facts } of table) assert.deepEqual(codes(decideClock({ now, ...facts })), expected);
});

test('a path is on the deepest mount, of equal ones on the last', () => {
  const info = [
    '22 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw,errors=remount-ro',
    '30 22 8:1 / /data rw - ext4 /dev/sda1 ro',
    '31 22 8:2 / /data rw - ext4 /dev/sdb1 rw',
    '32 22 8:3 / /my\\040disk rw - ext4 /dev/sdc1 rw,emergency_ro',
    '33 22 0:5 / /database ro - tmpfs tmpfs rw',
  ].join('\n');
  const at = (path: string) => {
    const mount = mountOf(info, path);
    return mount && [mount.majorMinor, mount.isReadOnly];
  };
  assert.deepEqual(at('/var/lib'), ['179:2', false]);
  assert.deepEqual(at('/data/x'), ['8:2', false]);
  assert.deepEqual(at('/my disk'), ['8:3', true]);
  assert.deepEqual(at('/database'), ['0:5', true]);
  assert.equal(mountOf('', '/'), null);
});

test('bytes are written for people', () => {
  assert.deepEqual([0, 999, 1500, 32 * GB, 271.4 * GB].map(formatBytes), [
    '0 B',
    '999 B',
    '1.5 kB',
    '32.0 GB',
    '271 GB',
  ]);
});

const codes = ({ findings }: { findings: readonly { code: string }[] }): string[] => findings.map(({ code }) => code);

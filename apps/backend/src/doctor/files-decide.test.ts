import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackupDisk } from '../core/doctor-facts.ts';
import { decideBackupDisk } from './files-decide.ts';

test('a disk for backups: missing, not writable, and what FAT and exFAT cannot hold', () => {
  const there = { kind: 'there', isWritable: true } as const;
  const table: [BackupDisk, string[]][] = [
    [{ kind: 'missing' }, ['backup_disk_missing']],
    [{ ...there, type: 'ext4' }, []],
    [{ ...there, type: null }, []],
    [{ ...there, type: 'ext4', isWritable: false }, ['backup_disk_not_writable']],
    [{ ...there, type: 'vfat' }, ['backup_disk_fat']],
    [{ ...there, type: 'fuse.fusefat', isWritable: false }, ['backup_disk_not_writable', 'backup_disk_fat']],
    [{ ...there, type: 'exfat' }, ['backup_disk_exfat']],
    [{ ...there, type: 'fuse.exfat-fuse' }, ['backup_disk_exfat']],
    [{ ...there, type: 'fuseblk' }, []],
  ];
  for (const [disk, expected] of table) {
    const { findings } = decideBackupDisk('/backups', disk, 10_002);
    assert.deepEqual(
      findings.map(({ code }) => code),
      expected,
      JSON.stringify(disk),
    );
  }
});

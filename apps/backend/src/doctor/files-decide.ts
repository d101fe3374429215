import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import type { BackendFindingCode } from '@station/protocol/backend-findings';
import type { BackupDisk, FileFacts } from '../core/doctor-facts.ts';

type Outcome = CheckOutcome<BackendFindingCode>;
type Found = Finding<BackendFindingCode>;

/** Files of DATA_DIR that hold secrets or the data itself. Others, such as device types, are the owner's. */
const isOurs = (name: string): boolean =>
  /^(jwt-secret|settings-key|setup-code|station-id|added-devices\.json)$/.test(name) ||
  name.startsWith('station.sqlite') ||
  name.startsWith('station-copies');

export function decideDataFolder(
  folder: string,
  facts: { files: readonly FileFacts[] | null; isWritable: boolean },
): Outcome {
  if (facts.files === null) return { detail: folder, findings: [{ code: 'data_folder_missing', values: { folder } }] };
  const findings: Found[] = facts.isWritable ? [] : [{ code: 'data_folder_not_writable', values: { folder } }];
  return { detail: folder, findings };
}

export type KeyFile = { name: string; isValid: boolean };

export function decideFiles(files: readonly FileFacts[], keys: readonly KeyFile[]): Outcome {
  const ours = files.filter(({ name }) => isOurs(name));
  const expected = files.find(({ name }) => name === '')?.uid;
  const findings = ours.flatMap(({ name, mode, uid, isFolder }): Found[] => {
    const found: Found[] = [];
    // A folder that may only be passed through shows nothing.
    if ((mode & (isFolder ? 0o066 : 0o077)) !== 0) {
      found.push({ code: 'open_to_others', values: { file: name, mode: mode.toString(8) } });
    }
    if (expected !== undefined && uid !== expected) {
      found.push({ code: 'owner_differs', values: { file: name, owner: String(uid), expected: String(expected) } });
    }
    return found;
  });
  const damaged = keys
    .filter(({ isValid }) => !isValid)
    .map(({ name }): Found => ({ code: 'key_damaged', values: { file: name } }));
  return { detail: ours.map(({ name }) => name).join(', ') || null, findings: [...findings, ...damaged] };
}

/** Names of FAT and exFAT: of the kernel, and of programs that mount them (FUSE). */
const limitedTypes: readonly (readonly [RegExp, Found['code']])[] = [
  [/^(fuse\.)?(vfat|msdos|fusefat)$/, 'backup_disk_fat'],
  [/^(fuse\.)?exfat(-fuse)?$/, 'backup_disk_exfat'],
];

/** @param user id of the user that the backend runs as. */
export function decideBackupDisk(folder: string, disk: BackupDisk, user: number): Outcome {
  if (disk.kind === 'missing')
    return { detail: folder, findings: [{ code: 'backup_disk_missing', values: { folder } }] };
  const { isWritable, type } = disk;
  const findings: Found[] = isWritable
    ? []
    : [{ code: 'backup_disk_not_writable', values: { folder, user: String(user) } }];
  for (const [names, code] of limitedTypes) if (names.test(type ?? '')) findings.push({ code, values: { folder } });
  return { detail: type === null ? folder : `${folder} ${type}`, findings };
}

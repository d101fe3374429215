import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runBackupJob } from '@station/backend/backup/run-backup-job';
import { type Alteration, alterBackup, readBackup } from '@station/backend/testing/backup/altered-backup';
import type { BackupManifest } from '@station/protocol/backups';
import { createRandom } from '../../faults/choice.ts';
import type { Findings } from './findings.ts';
import { pick } from './pick.ts';

const passphrase = 'four plain words here';

/** What no release makes, each on some table. */
const foreign: readonly ((table: string) => string)[] = [
  (table) => `create trigger odd after insert on ${table} begin delete from ${table}; end`,
  (table) => `create view odd as select * from ${table}`,
  (table) => `create index odd on ${table} (length(hex(zeroblob(1000))))`,
  (table) => `alter table ${table} add column odd text default 'x'`,
  (table) => `alter table ${table} rename to odd`,
  (table) => `create table odd as select * from ${table}`,
  () => 'create virtual table odd using fts5(text)',
];
const tables = ['users', 'devices', 'settings', 'zones', 'station', 'automations', 'kysely_migration'];
const odd: readonly unknown[] = [
  '',
  '+',
  '../../../evil',
  '\0',
  'x'.repeat(100_000),
  -1,
  1e300,
  null,
  [],
  {},
  [null],
  true,
];

/**
 * Backups of a station that somebody with their passphrase altered, each checked as before a restore. Required: each is refused in words,
 * never as an unexpected error.
 * @param folder for files of this part. @param dataDir of the station, which runs.
 */
export async function fuzzBackups(options: {
  seed: number;
  findings: Findings;
  count: number;
  folder: string;
  dataDir: string;
}): Promise<void> {
  const { seed, findings, count, folder, dataDir } = options;
  const random = createRandom(seed);
  await mkdir(folder, { recursive: true });
  const good = join(folder, 'good.age');
  const altered = join(folder, 'altered.age');
  const job = { onProgress: () => undefined, signal: new AbortController().signal };
  const made = await runBackupJob(
    { work: 'make', dataDir, to: good, passphrase, version: '1.0.0', at: Date.now(), agent: null },
    job,
  );
  if (made.kind === 'refused') throw new Error(`no backup could be made: ${made.reason} ${made.cause}`);
  const contents = await readBackup(good, passphrase);
  for (let index = 0; index < count; index++) {
    const table = pick(random, tables);
    const sql = pick(random, foreign)(table);
    const key = pick(random, Object.keys(made.manifest) as (keyof BackupManifest)[]);
    const value = pick(random, odd);
    const change: Alteration =
      random() < 0.5 ? { sql } : { claim: (manifest) => void Object.assign(manifest, { [key]: value }) };
    const input = change.sql ?? `${key}: ${JSON.stringify(value).slice(0, 100)}`;
    try {
      await alterBackup(contents, altered, passphrase, change);
      const outcome = await runBackupJob({ work: 'verify', dataDir: folder, file: altered, passphrase }, job);
      const reason = outcome.kind === 'refused' ? outcome.reason : 'done';
      if (reason === 'failed')
        findings.fault('a backup is refused without a reason', `${input}: ${JSON.stringify(outcome)}`);
      if (change.sql !== undefined && reason !== 'foreign_schema')
        findings.fault(`a foreign schema is ${reason}`, input);
    } catch (error) {
      findings.fault(`a backup ends the check: ${String(error)}`, input);
    }
    findings.done();
  }
  await rm(folder, { recursive: true });
}

import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import { formatBytes } from '@station/kit/machine-decide';
import type { BackendFindingCode } from '@station/protocol/backend-findings';
import type { FileFacts, Inspection } from '../core/doctor-facts.ts';

type Outcome = CheckOutcome<BackendFindingCode>;
type Found = Finding<BackendFindingCode>;

export type DatabaseFacts = {
  /** Name of the file in DATA_DIR. */
  file: string;
  inspection: Inspection;
  /** What is in DATA_DIR: remains of a damage or of its repair. */
  files: readonly FileFacts[];
  /** The reason in `*.suspected`, if there is one. */
  suspicion: string | null;
  /** Names of the migrations that this release knows. */
  known: readonly string[];
};

export function decideDatabase({ file, inspection, files, suspicion, known }: DatabaseFacts): Outcome {
  const has = (suffix: string): boolean => files.some(({ name }) => name === file + suffix);
  const findings: Found[] = [...inspected(file, inspection), ...schema(inspection, known)];
  if (suspicion !== null) findings.push({ code: 'database_suspected', values: { reason: suspicion } });
  if (has('.replacing')) findings.push({ code: 'database_replacement_unfinished', values: {} });
  for (const { name } of files) {
    // Its log and index stand beside it.
    if (name.startsWith(`${file}.damaged-`) && !/-(wal|shm|journal)$/.test(name)) {
      findings.push({ code: has('.lost') ? 'database_was_lost' : 'database_was_damaged', values: { file: name } });
    }
  }
  const size = inspection.kind === 'good' ? ` ${formatBytes(inspection.bytes)}` : '';
  return { detail: `${file}${size}`, findings };
}

function inspected(file: string, inspection: Inspection): Found[] {
  switch (inspection.kind) {
    case 'missing':
      return [{ code: 'database_missing', values: { file } }];
    case 'damaged':
      return [{ code: 'database_damaged', values: { file, reason: inspection.reason } }];
    case 'unreadable':
      return [{ code: 'database_unreadable', values: { file, reason: inspection.reason } }];
    case 'good':
      return inspection.isWhole ? [] : [{ code: 'database_not_read', values: { size: formatBytes(inspection.bytes) } }];
  }
}

/** A database without any migration is new: the backend makes all of them at its first start. */
function schema(inspection: Inspection, known: readonly string[]): Found[] {
  if (inspection.kind !== 'good' || inspection.migrations.length === 0) return [];
  const { migrations } = inspection;
  return decideSchema({
    pending: known.filter((name) => !migrations.includes(name)),
    unknown: migrations.filter((name) => !known.includes(name)),
  });
}

export function decideSchema({ pending, unknown }: { pending: string[]; unknown: string[] }): Found[] {
  const found: Found[] = [];
  if (unknown.length > 0) found.push({ code: 'database_newer', values: { migrations: unknown.join(', ') } });
  if (pending.length > 0) found.push({ code: 'database_behind', values: { migrations: pending.join(', ') } });
  return found;
}

const dayMs = 24 * 60 * 60 * 1000;
/** One copy is made a day. */
const oldAfterDays = 3;

export type CopiesFacts = {
  /** Newest first. */
  copies: readonly { name: string; takenAt: string; /** Null: none was found. */ damage: string | null }[];
  now: number;
  /** When the database was created or first written; a new one has no copy yet. Null: unknown. */
  databaseSince: number | null;
};

export function decideCopies({ copies, now, databaseSince }: CopiesFacts): Outcome {
  const [newest] = copies;
  const damaged = copies.flatMap(({ name, damage }): Found[] =>
    damage === null ? [] : [{ code: 'copy_damaged', values: { file: name, reason: damage } }],
  );
  if (newest === undefined) {
    const isNew = databaseSince === null || now - databaseSince < dayMs;
    return { detail: null, findings: isNew ? [] : [{ code: 'copies_missing', values: {} }] };
  }
  const days = Math.floor((now - Date.parse(newest.takenAt)) / dayMs);
  const old: Found[] = days >= oldAfterDays ? [{ code: 'copies_old', values: { days: String(days) } }] : [];
  return { detail: copies.map(({ name }) => name).join(', '), findings: [...old, ...damaged] };
}

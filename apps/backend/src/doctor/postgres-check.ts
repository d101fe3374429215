import { type Kysely, sql } from 'kysely';
import type { CheckOutcome } from '@station/kit/doctor-decide';
import { formatBytes } from '@station/kit/machine-decide';
import type { BackendFindingCode } from '@station/protocol/doctor-findings';
import { ownValue } from '@station/protocol/own-value';
import { migrations } from '../store/migrations/all.ts';
import { readSchemaState } from '../store/migrate.ts';
import { openPostgres } from '../store/postgres.ts';
import { decideSchema } from './database-decide.ts';

/** Looks whether the server answers, and which migrations it has. Its files are the server's own matter. */
export async function checkPostgres(url: string): Promise<CheckOutcome<BackendFindingCode>> {
  const { host } = new URL(url);
  const db = await openPostgres({
    url,
    replicaId: null,
    onError: () => undefined,
    logger: { failed: () => undefined },
  });
  try {
    const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db);
    const { pending, unknown, isNew } = await readSchemaState(db as Kysely<unknown>, migrations);
    const detail = `${host} ${formatBytes(Number(rows[0]?.bytes ?? 0))}`;
    return { detail, findings: isNew ? [] : decideSchema({ pending, unknown }) };
  } catch (error) {
    return { detail: host, findings: [{ code: 'database_unreachable', values: { host, reason: reasonOf(error) } }] };
  } finally {
    await db.destroy();
  }
}

/** Codes of PostgreSQL (appendix A) and of the network. A message may repeat the password. */
const explained: Readonly<Record<string, string>> = {
  '28P01': 'wrong password',
  '28000': 'the login is not allowed',
  '3D000': 'there is no database of this name',
  '53300': 'it has too many connections',
  '57P03': 'it is starting or stopping',
};

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  return code === null ? 'no answer in time' : (ownValue(explained, code) ?? code);
}

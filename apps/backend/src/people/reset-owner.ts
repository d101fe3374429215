import { Kysely } from 'kysely';
import { newCode } from '@station/kit/codes';
import { exists } from '@station/kit/durable-files';
import { openSqliteFile } from '../core/adapters/sqlite.ts';
import { createSqliteDialect } from '../core/adapters/sqlite-dialect.ts';
import type { DatabaseConfig } from '../store/database.ts';
import { openPostgres } from '../store/postgres.ts';
import type { Database, Schema } from '../store/schema.ts';
import { firstPasswordGroups } from './member-service.ts';
import { createPasswordHashes } from './password-hashes.ts';
import { replacePassword } from './sessions.ts';

export type ResetOwnerResult =
  | { kind: 'made'; email: string; password: string }
  /** Nobody has set the station up yet. */
  | { kind: 'no_owner' };

/**
 * Makes a new password for the owner and ends all their sessions and passkeys; also while the backend runs. It needs the database itself, which only
 * the machine's administrator has. @throws when the database cannot be opened.
 */
export async function resetOwner(config: DatabaseConfig): Promise<ResetOwnerResult> {
  const db = await openAsItIs(config);
  if (db === null) return { kind: 'no_owner' };
  try {
    const owner = await db
      .selectFrom('station')
      .innerJoin('users', 'users.id', 'station.owner_id')
      .select(['users.id', 'users.email'])
      .executeTakeFirst();
    if (owner === undefined) return { kind: 'no_owner' };
    const password = newCode(firstPasswordGroups);
    const hash = await createPasswordHashes().hash(password);
    return (await replacePassword(db, owner.id, hash))
      ? { kind: 'made', email: owner.email, password }
      : { kind: 'no_owner' };
  } finally {
    await db.destroy();
  }
}

/** Without a migration: the backend does that when it starts. Null: there is no database yet. */
async function openAsItIs(config: DatabaseConfig): Promise<Database | null> {
  const onError = (): void => undefined;
  if (config.kind === 'postgres') {
    return openPostgres({ url: config.url, replicaId: null, onError, logger: { failed: () => undefined } });
  }
  if (!(await exists(config.file))) return null;
  return new Kysely<Schema>({ dialect: createSqliteDialect(openSqliteFile(config.file), onError) });
}

import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../src/store/schema.ts';

/** A user without a password, in no station. @returns the id. */
export async function createMember(db: Database, email: string): Promise<string> {
  const id = randomUUIDv7();
  await db.insertInto('users').values({ id, email, name: email, role: 'member', created_at: 0 }).execute();
  return id;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { createExclusively } from './transact.ts';

/** A database that never answers, and counts concurrently held connections. */
function countedDatabase() {
  const counted = { held: 0, most: 0 };
  class CountingDriver extends DummyDriver {
    override acquireConnection() {
      counted.held += 1;
      counted.most = Math.max(counted.most, counted.held);
      return super.acquireConnection();
    }
    override async releaseConnection() {
      counted.held -= 1;
    }
  }
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new CountingDriver(),
      createIntrospector: (given) => new PostgresIntrospector(given),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return { counted, db };
}

test('a waiter for the login lock holds no connection, because the holder may need one', async () => {
  const { counted, db } = countedDatabase();
  const exclusively = createExclusively(db);
  const done: number[] = [];
  const works = Array.from({ length: 10 }, (_, index) => async () => {
    await db.selectFrom('devices').select('id').execute();
    done.push(index);
    if (index === 0) throw new Error('The broker is offline');
  });
  const results = await Promise.allSettled(works.map((work) => exclusively(work)));
  assert.deepEqual(
    results.map(({ status }) => status),
    works.map((_, index) => (index === 0 ? 'rejected' : 'fulfilled')),
  );
  assert.deepEqual(
    done,
    works.map((_, index) => index),
  );
  assert.deepEqual(counted, { held: 0, most: 2 });
});

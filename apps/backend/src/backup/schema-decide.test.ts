import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareSchemas, isPassive } from './schema-decide.ts';

const table = (name: string, sql: string | null, type = 'table') => ({ type, name, table: name, sql });
const users = table('users', 'CREATE TABLE "users" ("id" text primary key)');
const zones = table('zones', 'CREATE TABLE "zones" ("id" text)');

for (const { name, found, kind } of [
  { name: 'the same in another order', found: [zones, users], kind: 'same' },
  {
    name: 'other spaces, and plain names without quotes',
    found: [table('users', 'CREATE TABLE users  (id text\n primary key)'), zones],
    kind: 'same',
  },
  { name: 'one table less', found: [users], kind: 'foreign' },
  { name: 'one more', found: [users, zones, table('x', 'CREATE TABLE x (a)')], kind: 'foreign' },
  { name: 'the same name twice', found: [users, users, zones], kind: 'foreign' },
  { name: 'another type of the same name', found: [users, table('zones', zones.sql, 'view')], kind: 'foreign' },
  {
    name: 'a name that is more than a plain one',
    found: [users, table('zones', 'CREATE TABLE "zones" ("id text")')],
    kind: 'foreign',
  },
  { name: 'an index of another table', found: [users, { ...zones, table: 'users' }], kind: 'foreign' },
])
  test(`${kind}: ${name}`, () => assert.equal(compareSchemas(found, [users, zones]).kind, kind));

for (const { sql, type = 'table', passive } of [
  { sql: 'CREATE TABLE t (a)', passive: true },
  { sql: null, type: 'index', passive: true },
  { sql: 'CREATE TRIGGER t', type: 'trigger', passive: false },
  { sql: 'CREATE VIEW t AS SELECT 1', type: 'view', passive: false },
  { sql: 'CREATE VIRTUAL TABLE t USING x', passive: false },
  { sql: 'create/* a */-- b\n virtual table t using x', passive: false },
])
  test(`${passive ? 'passive' : 'not passive'}: ${type} ${sql}`, () =>
    assert.equal(isPassive([table('t', sql, type)]), passive));

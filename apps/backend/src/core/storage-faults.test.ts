import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { databaseFaultOf, storageError, storageFaultOf } from './storage-faults.ts';

const withCode = (code: string): Error => Object.assign(new Error('disk full'), { code });
const ofSqlite = (errcode: number): Error => Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode });

test('a fault of the storage is told by the code of the error, not by its text', () => {
  const faults: [unknown, ReturnType<typeof storageFaultOf>][] = [
    [ofSqlite(13), 'disk full'],
    [ofSqlite(8), 'read-only'],
    [ofSqlite(8 | (5 << 8)), 'read-only'],
    [ofSqlite(778), 'input/output error'],
    [ofSqlite(4874), 'disk full'],
    [ofSqlite(14), 'input/output error'],
    [ofSqlite(11), 'damaged'],
    [ofSqlite(5), 'locked'],
    [ofSqlite(517), 'locked'],
    [ofSqlite(19), null],
    [withCode('53100'), 'disk full'],
    [withCode('25006'), 'read-only'],
    [withCode('08006'), 'unreachable'],
    [withCode('57P01'), 'unreachable'],
    [withCode('53300'), 'unreachable'],
    [withCode('55P03'), 'locked'],
    [withCode('XX001'), 'damaged'],
    [withCode('23505'), null],
    [withCode('ENOSPC'), 'disk full'],
    [withCode('EROFS'), 'read-only'],
    [withCode('ESTALE'), 'input/output error'],
    [withCode('ENODEV'), 'input/output error'],
    [withCode('EUCLEAN'), 'input/output error'],
    [withCode('ECONNREFUSED'), null],
    [new Error('database or disk is full'), null],
    [new Error('outer', { cause: new Error('inner', { cause: ofSqlite(13) }) }), 'disk full'],
    ['disk full', null],
    [null, null],
  ];
  for (const [error, fault] of faults) assert.equal(storageFaultOf(error), fault, JSON.stringify(error));
});

test('a refused connection is a fault of a database query only', () => {
  assert.equal(databaseFaultOf(withCode('ECONNREFUSED')), 'unreachable');
  assert.equal(databaseFaultOf(ofSqlite(13)), 'disk full');
  assert.equal(databaseFaultOf(new Error('x')), null);
});

test('a request that cannot be stored is answered with a code of its own', () => {
  const codeOf = (error: unknown) => storageError(error)?.code ?? null;
  assert.equal(codeOf(ofSqlite(13)), 'storage_full');
  assert.equal(codeOf(ofSqlite(8)), 'storage_unwritable');
  assert.equal(codeOf(ofSqlite(10)), 'storage_unwritable');
  assert.equal(codeOf(withCode('57P03')), 'unavailable');
  assert.equal(codeOf(ofSqlite(19)), null);
  assert.equal(codeOf(new StationError('conflict', 'x', { cause: ofSqlite(13) })), null);
});

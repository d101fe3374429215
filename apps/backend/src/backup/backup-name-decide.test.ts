import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupFileName, readBackupName } from './backup-name-decide.ts';

const at = '2026-11-23T01:02:03.456Z';

test('the name has the station and the time', () => {
  const names = {
    'My Station': 'my-station',
    Дім: 'backup',
    '../../etc': 'etc',
    '': 'backup',
    ['x'.repeat(99)]: 'x'.repeat(40),
  };
  for (const [station, part] of Object.entries(names)) {
    const name = backupFileName(station, at);
    assert.equal(name, `station-${part}-20261123T010203Z.age`);
    assert.deepEqual(readBackupName(name), { madeAt: '2026-11-23T01:02:03.000Z' });
  }
});

test('other names are no backups', () => {
  for (const name of ['station.sqlite', 'station-x.age', '.station-x-20261123T010203Z.age.tmp', 'photo.age']) {
    assert.equal(readBackupName(name), null, name);
  }
});

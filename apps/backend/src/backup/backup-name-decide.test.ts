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
  const foreign = ['station.sqlite', 'station-x.age', '.station-x-20261123T010203Z.age.tmp', 'photo.age'];
  // Times that no clock shows: counted as a day, such a file would take the place of a backup.
  const impossible = ['20261323T010203', '20260230T010203', '20261123T990203', '20261123T235960', '20261123T240000'];
  for (const name of [...foreign, ...impossible.map((time) => `station-x-${time}Z.age`)]) {
    assert.equal(readBackupName(name), null, name);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../rig/program.ts';

const config = import.meta.resolve('@station/agent/config');
const zones = '/usr/share/zoneinfo';

/** Prints the minutes of 1970-01-01 00:00 UTC before and after the machine gets another zone. */
const look = `
import { symlinkSync, unlinkSync } from 'node:fs';
import { localMinutes } from '${config}';
const minutes = [localMinutes(0)];
unlinkSync('/etc/localtime');
symlinkSync('${zones}/Asia/Tokyo', '/etc/localtime');
minutes.push(localMinutes(0));
console.log(minutes.join(' '));
`;

test('the maintenance window follows the time zone of the machine, which is set while the agent runs', async () => {
  const inside = `mount -t tmpfs none /etc && ln -s ${zones}/Etc/UTC /etc/localtime && exec "$@"`;
  const node = [process.execPath, '--input-type=module', '--eval', look];
  assert.equal(await run('unshare', ['--mount', 'sh', '-c', inside, 'sh', ...node]), `0 ${9 * 60}`);
});

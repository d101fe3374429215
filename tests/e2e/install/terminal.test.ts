import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { openTerminal } from '../../station-machine/terminal.ts';
import { fetchInstaller, openPrepared, openShared, patientMs, waitUntilHealthy } from './shared-station.ts';

describe('install.sh in a terminal', () => {
  before(async () => (await openShared()).site.restore());

  test('a person installs a station in a terminal and is told what a mistake is', async () => {
    const { workspace, disks, start, site } = await openShared();
    await using machine = await start(await disks.clone(await openPrepared()));
    await fetchInstaller(machine);
    // What a network without internet needs; a person answers the rest.
    const given = Object.entries(site.answers).map(([name, value]) => `${name}=${value}\n`);
    await machine.writeFile('/tmp/mirrors', given.join(''));
    await using terminal = await openTerminal(workspace, machine);
    await terminal.type('sh /tmp/install.sh --answers /tmp/mirrors');
    await terminal.see(/Name of this station.*\[station\]: *$/m);
    await terminal.type('Küche!');
    await terminal.see(/This answer must be of a-z, 0-9 and -/);
    await terminal.type('kitchen');
    await terminal.see(/Install Station 1\.0\.0 as "kitchen"\? \[Y\/n\]: *$/m);
    await terminal.type('y');
    await terminal.see(/\[3\/9\] Docker/, patientMs);
    await terminal.see(/\[#*\.*\] \d+ %|\d+ s  \S/, patientMs);
    const end = await terminal.see(/Web app +http:\/\/kitchen\.local[^]*reset\.sh/, patientMs);
    assert.match(end, /Code +[2-9A-HJKMNP-Z]{5} [2-9A-HJKMNP-Z]{5}/);
    assert.match(end, /█/, 'a QR code');
    assert.equal(await waitUntilHealthy(machine), '1.0.0');
    assert.equal(await machine.must('hostname'), 'kitchen');
  });

  test('without an answer nothing is changed', async () => {
    const { workspace, bareDisk, start } = await openShared();
    await using machine = await start(await bareDisk());
    await fetchInstaller(machine);
    await using terminal = await openTerminal(workspace, machine);
    await terminal.type('sh /tmp/install.sh');
    await terminal.see(/Name of this station/);
    await terminal.type('');
    await terminal.see(/\[Y\/n\]: *$/m);
    await terminal.type('n');
    await terminal.see(/You chose not to\. Nothing was changed\./);
    assert.equal(await machine.must('ls /opt'), '');
  });
});

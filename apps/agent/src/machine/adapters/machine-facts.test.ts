import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { readLinks, readMachine } from './machine-facts.ts';
import { kernelPaths } from '../../core/adapters/kernel-files.ts';

/** Virtual files of another machine. */
async function kernelOf(files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'station-kernel-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return {
    kernel: { sys: join(root, 'sys'), proc: join(root, 'proc') },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

const read = async (files: Readonly<Record<string, string>>) => {
  await using machine = await kernelOf(files);
  return await readMachine([], machine.kernel, systemClock);
};

describe('the facts of the machine', () => {
  it('are those of this machine', async () => {
    const { cores, load, memory, disks, uptimeSeconds } = await readMachine(
      ['/', '/proc', '/nowhere'],
      kernelPaths,
      systemClock,
    );
    assert.equal(cores, availableParallelism());
    assert.equal(load.length, 3);
    const total = /^MemTotal:\s+(\d+) kB/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1];
    assert.equal(memory?.totalBytes, Number(total) * 1024);
    assert.ok(memory.availableBytes > 0 && memory.availableBytes < memory.totalBytes);
    const { blocks, bsize } = await statfs('/');
    assert.deepEqual([disks[0]?.path, disks[0]?.totalBytes], ['/', blocks * bsize]);
    assert.ok(!disks.some(({ path }) => path === '/nowhere'));
    assert.ok(uptimeSeconds > 0);
  });

  it('name a disk once, however many folders are on it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-disk-'));
    await mkdir(join(folder, 'inside'));
    const { disks } = await readMachine([folder, join(folder, 'inside')], kernelPaths, systemClock);
    assert.deepEqual(
      disks.map(({ path }) => path),
      [folder],
    );
    await rm(folder, { recursive: true });
  });

  it('say what is written a day and what of its life a card has used', async () => {
    const card = 'sys/devices/platform/mmc0/block/mmcblk0';
    await using machine = await kernelOf({
      'proc/self/mountinfo': '25 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw\n',
      [`${card}/stat`]: '1 2 3 4 5 6 2048000 8\n',
      [`${card}/device/life_time`]: '0x02 0x01\n',
      [`${card}/mmcblk0p2/partition`]: '2\n',
      [`${card}/mmcblk0p2/stat`]: '1 1 1 1 1 1 1 1\n',
    });
    await mkdir(join(machine.kernel.sys, 'dev/block'), { recursive: true });
    const partition = join(machine.kernel.sys, '..', card, 'mmcblk0p2');
    await symlink(partition, join(machine.kernel.sys, 'dev/block/179:2'));
    const { disks, uptimeSeconds } = await readMachine(['/'], machine.kernel, systemClock);
    // The first hour says nothing of a day.
    const aDay = uptimeSeconds < 3600 ? null : Math.round(((2048000 * 512) / uptimeSeconds) * 86_400);
    assert.deepEqual([disks[0]?.writtenBytesPerDay, disks[0]?.lifeUsedPercent], [aDay, 20]);
  });

  it('are absent where the machine has none', async () => {
    const { model, memory, temperature, power, load } = await read({});
    assert.deepEqual([model, memory, temperature, power, load], [null, null, null, null, []]);
  });

  it('have the hottest sensor, and none that is not connected', async () => {
    const files = {
      'sys/class/thermal/thermal_zone0/temp': '48312\n',
      'sys/class/thermal/cooling_device0/temp': '99000\n',
      'sys/class/hwmon/hwmon0/temp1_input': '61500\n',
      'sys/class/hwmon/hwmon0/temp2_input': '-128000\n',
      'sys/class/hwmon/hwmon1/temp1_input': '255000\n',
    };
    assert.equal((await read(files)).temperature, 61.5);
  });

  it('have the model and the power of a Raspberry Pi', async () => {
    const word = 'sys/devices/platform/soc/soc:firmware/get_throttled';
    const model = 'Raspberry Pi 4 Model B Rev 1.4';
    const pi = await read({ 'proc/device-tree/model': `${model}\0`, [word]: '50005\n' });
    assert.equal(pi.model, model);
    assert.deepEqual(pi.power, { isLow: true, wasLow: true, isSlowed: true, wasSlowed: true });
    const calm = { isLow: false, wasLow: false, isSlowed: false, wasSlowed: false };
    assert.deepEqual((await read({ [word]: '0\n' })).power, calm);
    assert.deepEqual((await read({ [word]: '10000\n' })).power, { ...calm, wasLow: true });
    // Bit 3 is the soft limit of the temperature, which costs hardly any speed.
    assert.deepEqual((await read({ [word]: '8\n' })).power, calm);
    const newer = 'sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled';
    assert.deepEqual((await read({ [newer]: '20000\n' })).power, { ...calm, wasSlowed: true });
  });

  it('have the alarm of the driver where the firmware reports no status', async () => {
    const folder = 'sys/class/hwmon/hwmon2';
    const { power } = await read({ [`${folder}/name`]: 'rpi_volt\n', [`${folder}/in0_lcrit_alarm`]: '1\n' });
    assert.deepEqual(power, { isLow: true, wasLow: true, isSlowed: false, wasSlowed: false });
  });
});

describe('the links of the machine', () => {
  it('have their kind, and no addresses that people cannot use', async () => {
    for (const { interface: name, addresses, kind } of await readLinks('/sys')) {
      assert.notEqual(name, 'lo');
      assert.ok(['ethernet', 'wifi', 'other'].includes(kind));
      assert.ok(!addresses.some((address) => address.startsWith('fe80')));
    }
  });
});

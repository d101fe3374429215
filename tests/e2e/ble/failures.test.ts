import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { BleError } from '@station/protocol/ble-frames';
import { until } from '../../vstation/agent.ts';
import type { Bluetooth, Helper } from '../../vstation/bluetooth.ts';
import type { Machine } from '../../vstation/machine.ts';
import { sharedMachine } from './shared-machine.ts';
import { discover, isResult, order, resultsOf, startScan, write } from './writing.ts';

// What ends a radio while the helper scans and while it writes. Each time it heals without being started again.

type Loss = { name: string; end: () => Promise<unknown>; mend: () => Promise<unknown>; errors: BleError[] };

describe('a radio that is lost', () => {
  let machine: Machine;
  let bluetooth: Bluetooth;
  let helper: Helper;
  let ordered = 0;
  before(async () => {
    ({ machine, bluetooth } = await sharedMachine());
    await bluetooth.device.advertise({ name: 'SH_light_f0' });
    helper = await bluetooth.startHelper();
    helper.send(startScan);
    await discover(helper, bluetooth.device, 'SH_light_f0');
  });
  after(async () => {
    await bluetooth.insertControllers();
    bluetooth.device.send({ order: 'answer_after', ms: 0 });
    helper[Symbol.dispose]();
  });

  beforeEach(async () => {
    bluetooth.device.send({ order: 'answer_after', ms: 0 });
    await bluetooth.insertControllers();
    const isScanning = (): boolean =>
      helper.received.findLast(({ event }) => event.startsWith('scan_'))?.event === 'scan_started';
    await until('the scan', () => Promise.resolve(isScanning()), { timeoutMs: 60_000 });
  });

  const nothing = (): Promise<void> => Promise.resolve();
  const power = (isOn: boolean) => () =>
    machine.must(`busctl set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b ${isOn}`);
  const switchOff = power(false);
  const losses: Loss[] = [
    { name: 'bluetoothd restarts', end: () => bluetooth.restartDaemon(), mend: nothing, errors: ['bluetooth_stopped'] },
    {
      name: 'the adapter is pulled out',
      end: () => bluetooth.removeControllers(),
      mend: () => bluetooth.insertControllers(),
      errors: ['adapter_missing'],
    },
    // The helper switches it on again, once.
    { name: 'the adapter is switched off', end: switchOff, mend: power(true), errors: ['adapter_off'] },
    {
      name: 'the adapter is blocked',
      end: () => machine.must('rfkill block bluetooth'),
      mend: () => bluetooth.insertControllers(),
      // BlueZ 5.66 tells only a helper that tries to switch it on.
      errors: ['adapter_blocked', 'adapter_off'],
    },
  ];

  for (const [index, { name, end, mend, errors }] of losses.entries()) {
    test(`${name} while it scans: a write fails with the reason, and the scan runs again`, async () => {
      const from = helper.received.length;
      await end();
      if (mend !== nothing) {
        await helper.next('the scan to stop', ({ event }) => event === 'scan_stopped', { from });
        ordered += 1;
        const refused = await write(helper, bluetooth.device.address, 'nobody');
        assert.ok(
          refused.ok ? end === switchOff : errors.some((error) => error === refused.error),
          refused.error ?? '',
        );
      }
      await mend();
      const name = `SH_light_f${index}s`;
      await bluetooth.device.advertise({ name });
      await discover(helper, bluetooth.device, name, from);
    });

    test(`${name} while it writes: one result, and the next write succeeds`, async () => {
      const { device } = bluetooth;
      device.send({ order: 'answer_after', ms: 3_000 });
      const from = helper.received.length;
      const deviceFrom = device.received.length;
      ordered += 1;
      order(helper, device.address, `interrupted by: ${name}`);
      await device.next('the write', ({ event }) => event === 'written', { from: deviceFrom });
      await end();
      device.send({ order: 'answer_after', ms: 0 });
      await mend();
      const first = await helper.next('the result', isResult, { from, timeoutMs: 50_000 });
      const name2 = `SH_light_f${index}w`;
      await device.advertise({ name: name2 });
      await discover(helper, device, name2, from);
      ordered += 1;
      const second = await write(helper, device.address, 'again');
      assert.equal(second.ok, true, `${second.error} (after ${first.ok ? 'success' : first.error})`);
    });
  }

  test('every write had exactly one result', async () => {
    await until('the results', () => Promise.resolve(resultsOf(helper).length >= ordered), { timeoutMs: 50_000 });
    assert.equal(resultsOf(helper).length, ordered);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Bluetooth, Helper } from '../../vstation/bluetooth.ts';
import { sharedMachine } from './shared-machine.ts';
import { discover, isSweep, resultsOf, startScan, textsOf, write } from './writing.ts';

// The helper that ships with real BlueZ, driven by its frames.

const writes = isSweep ? 500 : 40;
const share = 0.2;
/** More are no chance: nothing is connected any more. */
const mostFailures = 3 + writes / 100;

describe('writing to a device', () => {
  let bluetooth: Bluetooth;
  let helper: Helper;
  before(async () => {
    ({ bluetooth } = await sharedMachine());
    await bluetooth.device.advertise({ name: 'SH_light_w1' });
    helper = await bluetooth.startHelper();
    helper.send(startScan);
    await discover(helper, bluetooth.device, 'SH_light_w1');
    // Each write then looks for its device itself.
    helper.send({ event: 'stop_scan' });
  });
  after(() => helper[Symbol.dispose]());

  test('payloads arrive as they are whatever their size, and one above 512 bytes is refused', async (t) => {
    const { device } = bluetooth;
    // BlueZ 5.66 as a device refuses longer ones, although an attribute may have 512 bytes (tests/e2e/bluez has those).
    for (const size of [1, 20, 21, 185, 244, 245, 508]) {
      const from = device.received.length;
      const payload = `${size}-`.repeat(size).slice(0, size);
      const { ok, error, ms } = await write(helper, device.address, payload);
      t.diagnostic(`${size} bytes: ${ms.toFixed(0)} ms`);
      assert.ok(ok, error ?? '');
      assert.deepEqual(textsOf(device, from), [payload]);
    }
    const { error } = await write(helper, device.address, 'x'.repeat(513));
    assert.equal(error, 'payload_invalid');
  });

  test('a device that is not there', async () => {
    const { ok, error } = await write(helper, '00:AA:01:09:00:09', 'hello');
    assert.deepEqual({ ok, error }, { ok: false, error: 'not_found' });
  });

  test(`${writes} writes to a device that drops every fifth connection`, { timeout: 3_600_000 }, async (t) => {
    const { device } = bluetooth;
    const answeredBefore = resultsOf(helper).length;
    const from = device.received.length;
    device.send({ order: 'fail', share, seed: 15 });
    const failures: string[] = [];
    const times: number[] = [];
    for (let count = 1; count <= writes; count += 1) {
      const payload = JSON.stringify({ count, filling: 'x'.repeat((count * 37) % 480) });
      const at = device.received.length;
      const { ok, error, ms } = await write(helper, device.address, payload);
      times.push(ms);
      if (!ok) failures.push(`${count}: ${error}`);
      else assert.equal(textsOf(device, at).at(-1), payload);
      if (failures.length <= mostFailures) continue;
      // What hangs is looked at while it does.
      t.diagnostic(await bluetooth.look());
      break;
    }
    device.send({ order: 'fail', share: 0, seed: 0 });
    const dropped = device.received.slice(from).filter(({ event }) => event === 'disconnects').length;
    const connections = device.received.slice(from).filter(({ event }) => event === 'connected').length;
    times.sort((a, b) => a - b);
    const at = (part: number): string => (times[Math.floor(part * (times.length - 1))] ?? 0).toFixed(0);
    t.diagnostic(`${writes} writes, ${connections} connections, ${dropped} dropped, ${failures.length} failed`);
    t.diagnostic(`median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`);
    assert.ok(failures.length <= writes / 100, failures.join('\n'));
    assert.ok(dropped > 0);
    assert.equal(resultsOf(helper).length - answeredBefore, writes, 'each write has exactly one result');
  });
});

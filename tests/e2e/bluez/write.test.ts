import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { bleErrors, type BleError, type RadioState } from '@station/protocol/ble-frames';
import type { Peripheral } from '../../rig/fake-bluez-objects.ts';
import { createStage, device, startScan, type Stage } from './stage.ts';

/** For what never happens. */
const shortMs = 300;
/** For what a device does not do at first: the attempt that succeeds after it has as long, which is enough on a busy machine. */
const attemptMs = 2_000;
type Limits = NonNullable<Parameters<typeof createStage>[0]>['limits'];
const limitsOf = ({ connects = [], writes = [] }: Partial<Peripheral>): Limits => ({
  firstRetryMs: 1,
  ...(connects.includes('hang') ? { connectMs: attemptMs } : {}),
  ...(connects.includes('unresolved') ? { servicesMs: attemptMs } : {}),
  ...(connects.includes('bare') ? { objectsMs: attemptMs } : {}),
  ...(writes.includes('hang') ? { writeMs: attemptMs } : {}),
});

const results = ({ events }: Stage) => events.filter(({ event }) => event === 'write_result');

async function scanning(peripheral: Peripheral, limits: Limits = { firstRetryMs: 1 }): Promise<Stage> {
  const stage = await createStage({ limits });
  stage.fake.add(peripheral);
  stage.send(startScan);
  await stage.next('discovered');
  return stage;
}

/** They mostly wait. */
describe('a write', { concurrency: 4 }, () => {
  it('connects, writes with a response, disconnects, and lets BlueZ forget the device', async () => {
    const light = device();
    await using stage = await scanning(light);
    const payload = 'x'.repeat(512);
    const { event, ...result } = await stage.write(light, payload);
    assert.deepEqual([event, result], ['write_result', { address: light.address, ok: true }]);
    assert.deepEqual(light.received, [payload]);
    assert.deepEqual(stage.fake.writeOptions, [{ type: 'request' }]);
    // Discovery stops for the connection and goes on after it.
    await stage.next('discovered');
    const calls = stage.fake.calls.filter((member) => !member.includes('Discovery') && member !== 'GetManagedObjects');
    assert.deepEqual(calls, ['Connect', 'WriteValue', 'Disconnect', 'RemoveDevice']);
    assert.deepEqual(
      stage.events.map(({ event }) => event).filter((name) => name !== 'discovered'),
      ['ready', 'scan_started', 'scan_stopped', 'write_result', 'scan_started'],
    );
  });

  it('keeps a device that a person has paired', async () => {
    const paired = device({ isPaired: true });
    await using stage = await scanning(paired);
    assert.equal((await stage.write(paired)).ok, true);
    await stage.until(() => !stage.fake.isConnected(paired));
    assert.ok(!stage.fake.calls.includes('RemoveDevice'));
  });

  it('finds a device that BlueZ has dropped, also without a scan', async () => {
    const light = device();
    await using stage = await createStage();
    stage.fake.add(light);
    assert.equal((await stage.write(light)).ok, true);
    assert.deepEqual(
      stage.events.map(({ event }) => event),
      ['ready', 'write_result'],
    );
    await stage.until(() => !stage.fake.isDiscovering());
  });

  it('waits for services that are known late', async () => {
    const slow = device({ connects: ['unresolved'] });
    await using stage = await scanning(slow);
    const writing = stage.write(slow);
    await stage.until(() => stage.fake.isConnected(slow));
    stage.fake.resolve(slow);
    assert.equal((await writing).ok, true);
    assert.equal(stage.fake.calls.filter((member) => member === 'Connect').length, 1);
  });

  const healed: [string, Partial<Peripheral>][] = [
    ['a connection that fails', { connects: ['fail', 'fail', 'fail'] }],
    ['a connection that is aborted', { connects: ['abort', 'abort'] }],
    ['a connection that hangs', { connects: ['hang'] }],
    ['a connection that BlueZ says nothing of', { connects: ['silent'] }],
    ['a connection that is in progress', { connects: ['in_progress'] }],
    ['a link that breaks before the services are known', { connects: ['drop', 'drop', 'drop'] }],
    ['services that never come', { connects: ['unresolved'] }],
    ['a device that vanishes', { connects: ['vanish'] }],
    ['services that are missing once', { connects: ['bare'] }],
    ['a write that fails', { writes: ['fail', 'fail', 'fail'] }],
    ['a write that is in progress', { writes: ['in_progress'] }],
    ['a write that hangs', { writes: ['hang'] }],
    ['a link that breaks during the write', { writes: ['drop', 'drop', 'drop'] }],
  ];
  for (const [what, behaviour] of healed) {
    it(`succeeds after ${what}`, async () => {
      const light = device(behaviour);
      await using stage = await scanning(light, limitsOf(behaviour));
      assert.deepEqual(await stage.write(light, 'once'), { event: 'write_result', address: light.address, ok: true });
      assert.deepEqual(light.received, ['once']);
      assert.deepEqual(light.connects ?? [], []);
      assert.deepEqual(light.writes ?? [], []);
      await stage.until(() => !stage.fake.isConnected(light));
    });
  }

  const four = <T>(step: T): T[] => [step, step, step, step];
  const reported: [BleError, Partial<Peripheral>][] = [
    ['connect_failed', { connects: four('fail') }],
    ['connect_failed', { connects: four('hang') }],
    ['timed_out', { connects: four('unresolved') }],
    ['service_missing', { connects: ['bare', 'bare'] }],
    ['write_failed', { writes: four('fail') }],
    ['write_failed', { writes: ['refuse'] }],
    ['disconnected', { writes: four('drop') }],
  ];
  for (const [error, behaviour] of reported) {
    it(`reports ${error} (${JSON.stringify(behaviour)})`, async () => {
      const light = device(behaviour);
      await using stage = await scanning(light, limitsOf(behaviour));
      assert.equal((await stage.write(light)).error, error);
      assert.ok(bleErrors.includes(error));
      assert.deepEqual([light.connects ?? [], light.writes ?? []], [[], []], 'tried otherwise');
      // The next device has its turn.
      const next = device();
      stage.fake.add(next);
      assert.equal((await stage.write(next)).ok, true);
      assert.equal(results(stage).length, 2);
    });
  }

  it('succeeds with a stuck radio, which it switches off and on', async () => {
    const light = device({ connects: ['stuck'] });
    await using stage = await scanning(light, { firstRetryMs: 1, connectMs: attemptMs });
    assert.equal((await stage.write(light, 'once')).ok, true);
    assert.deepEqual(light.received, ['once']);
    assert.equal(stage.fake.calls.filter((member) => member === 'Set').length, 2);
    assert.ok(stage.notes.some((note) => /off and on/.test(JSON.stringify(note))));
  });

  it('switches the radio on again also when the helper ends meanwhile', async () => {
    const light = device({ connects: ['stuck'] });
    await using stage = await scanning(light, { firstRetryMs: 200, connectMs: shortMs, stopMs: 60_000 });
    stage.fake.refusals['Set'] = [null, 'org.bluez.Error.Busy'];
    void stage.write(light).catch(() => undefined);
    const isSet = (): number => stage.fake.calls.filter((member) => member === 'Set').length;
    await stage.until(() => isSet() === 2);
    await stage.stop();
    assert.equal(isSet(), 3);
  });

  it('does not switch the radio off while somebody else is connected through it', async () => {
    const light = device({ connects: four('hang') });
    await using stage = await scanning(light, { firstRetryMs: 1, connectMs: shortMs });
    stage.fake.connectBefore(device({ isPaired: true }));
    assert.equal((await stage.write(light)).error, 'connect_failed');
    assert.ok(!stage.fake.calls.includes('Set'));
  });

  it('looks once more for a characteristic that is missing', async () => {
    const odd = device();
    odd.services = { [Object.keys(odd.services)[0] ?? '']: [] };
    await using stage = await scanning(odd, { objectsMs: attemptMs });
    assert.equal((await stage.write(odd)).error, 'characteristic_missing');
    assert.equal(stage.fake.calls.filter((member) => member === 'Connect').length, 2);
  });

  it('reports what is wrong with the radio', async () => {
    const light = device();
    await using stage = await createStage({ limits: { radioMs: shortMs } });
    const becomes = (state: RadioState): Promise<void> =>
      stage.until(() => stage.notes.findLast((note) => note.note === 'radio')?.state === state);
    await becomes('ready');
    const changes: [RadioState & BleError, () => unknown][] = [
      ['adapter_off', () => stage.fake.setAdapter('hci0', { Powered: new Variant('b', false) })],
      ['adapter_blocked', () => stage.fake.setAdapter('hci0', { PowerState: new Variant('s', 'off-blocked') })],
      ['adapter_missing', () => stage.fake.removeAdapter('hci0')],
      ['bluetooth_stopped', () => stage.fake[Symbol.asyncDispose]()],
    ];
    for (const [state, change] of changes) {
      await change();
      await becomes(state);
      assert.equal((await stage.write(light)).error, state);
    }
  });

  it('reports a device that is not there', async () => {
    await using stage = await createStage({ limits: { searchMs: shortMs } });
    assert.equal((await stage.write(device())).error, 'not_found');
  });

  it('refuses what is too long', async () => {
    await using stage = await createStage();
    assert.equal((await stage.write(device(), 'x'.repeat(513))).error, 'payload_invalid');
    assert.equal((await stage.write(device(), 'ї'.repeat(257))).error, 'payload_invalid');
  });

  it('survives a restart of bluetoothd', async () => {
    const light = device({ connects: ['hang'] });
    await using stage = await createStage({ limits: { firstRetryMs: 1 } });
    stage.fake.add(light);
    const writing = stage.write(light);
    await stage.until(() => stage.fake.calls.includes('Connect'));
    await stage.restartBluez();
    stage.fake.add(light);
    assert.equal((await writing).ok, true);
  });

  it('ends within its time when nothing answers any more', async () => {
    const light = device({ connects: four('hang') });
    await using stage = await scanning(light, { budgetMs: shortMs });
    assert.equal((await stage.write(light)).error, 'timed_out');
    const next = device({ writes: ['hang'] });
    stage.fake.add(next);
    assert.equal((await stage.write(next)).error, 'timed_out');
  });

  it('names what went wrong before its time was over', async () => {
    const light = device({ connects: ['fail', 'hang'] });
    await using stage = await scanning(light, { budgetMs: 10_000, firstRetryMs: 1 });
    assert.equal((await stage.write(light)).error, 'connect_failed');
  });

  it('waits for the write before it', async () => {
    const first = device({ connects: ['unresolved'] });
    const second = device();
    await using stage = await scanning(first);
    stage.fake.add(second);
    const both = [stage.write(first), stage.write(second)];
    await stage.until(() => stage.fake.isConnected(first));
    assert.equal(stage.fake.isConnected(second), false);
    stage.fake.resolve(first);
    await Promise.all(both).catch(() => undefined);
    assert.deepEqual(
      results(stage).map((frame) => 'address' in frame && frame.address),
      [first.address, second.address],
    );
  });

  it('ends with the helper, and so do those that wait', async () => {
    const light = device({ writes: ['hang'] });
    await using stage = await scanning(light);
    void stage.write(light).catch(() => undefined);
    void stage.write(device()).catch(() => undefined);
    await stage.until(() => stage.fake.calls.includes('WriteValue'));
    await stage.stop();
    assert.deepEqual(
      results(stage).map((frame) => 'error' in frame && frame.error),
      ['stopping', 'stopping'],
    );
    assert.equal(stage.fake.isConnected(light), false);
    assert.equal(stage.fake.isDiscovering(), false);
  });

  it('leaves no match rule behind', async () => {
    const light = device();
    await using stage = await scanning(light);
    const rules = await stage.bus.countMatchRules();
    for (let n = 0; n < 200; n += 1) assert.equal((await stage.write(light)).ok, true);
    assert.equal(await stage.bus.countMatchRules(), rules);
  });
});

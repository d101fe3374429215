import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { improvServiceDataUuid, improvServiceUuid, type RadioState } from '@station/protocol/ble-frames';
import { createStage, device, service, startScan, stopScan, type Stage } from './stage.ts';

const off = new Variant('b', false);
const radioStates = ({ notes }: Stage): RadioState[] =>
  notes.flatMap((note) => (note.note === 'radio' ? [note.state] : []));

describe('the scan', () => {
  it('reports devices of its service and of Improv, and no others', async () => {
    await using stage = await createStage();
    const light = device();
    const improv = device({ services: {}, serviceData: { [improvServiceDataUuid]: Uint8Array.of(2, 1) } });
    stage.fake.add(device({ uuids: ['0000180f-0000-1000-8000-00805f9b34fb'] }));
    stage.fake.add(light);
    stage.send(startScan);
    await stage.next('scan_started');
    assert.deepEqual(await stage.next('discovered'), {
      event: 'discovered',
      address: light.address,
      name: light.name,
      rssi: -60,
      service_uuids: [service],
      service_data: {},
    });
    stage.fake.add(improv);
    const { address, service_data } = await stage.next('discovered');
    assert.deepEqual([address, service_data], [improv.address, { [improvServiceDataUuid]: 'AgE=' }]);
    stage.send(stopScan);
    await stage.next('scan_stopped');
    assert.equal(stage.fake.isDiscovering(), false);
    assert.deepEqual(stage.fake.filters, [
      { UUIDs: [service, improvServiceUuid], Transport: 'le', DuplicateData: true },
    ]);
    assert.deepEqual(radioStates(stage), ['ready']);
  });

  it('reports a device again when its name, services or data come later', async () => {
    await using stage = await createStage();
    const late = device({ uuids: [] });
    delete late.name;
    stage.fake.add(late);
    stage.send(startScan);
    await stage.next('scan_started');
    stage.fake.advertise(late);
    late.uuids = [service];
    stage.fake.advertise(late);
    assert.equal((await stage.next('discovered')).name, '');
    late.name = 'SH_pir_7';
    stage.fake.advertise(late);
    assert.equal((await stage.next('discovered')).name, 'SH_pir_7');
    // The same again, and only a signal strength that differs: nothing within a second.
    stage.fake.advertise(late);
    late.rssi = -40;
    stage.fake.advertise(late);
    late.serviceData = { [service]: Uint8Array.of(1) };
    stage.fake.advertise(late);
    const { service_data, rssi } = await stage.next('discovered');
    assert.deepEqual([service_data, rssi], [{ [service]: 'AQ==' }, -40]);
    assert.equal(stage.events.filter(({ event }) => event === 'discovered').length, 3);
  });

  it('does not report a device that BlueZ knows but does not receive', async () => {
    await using stage = await createStage();
    const known = device({ isAdvertising: false, isPaired: true });
    stage.send(startScan);
    await stage.next('scan_started');
    stage.fake.connectBefore(known);
    stage.fake.disconnect(known);
    stage.send(stopScan);
    await stage.next('scan_stopped');
    stage.send(startScan);
    await stage.next('scan_started');
    const seen = device();
    stage.fake.add(seen);
    assert.equal((await stage.next('discovered', ({ address }) => address !== known.address)).address, seen.address);
  });

  it('continues when the adapter was removed and comes again', async () => {
    await using stage = await createStage();
    stage.send(startScan);
    await stage.next('scan_started');
    stage.fake.removeAdapter('hci0');
    await stage.next('scan_stopped');
    stage.fake.addAdapter('hci0');
    await stage.next('scan_started');
    assert.deepEqual(radioStates(stage), ['ready', 'adapter_missing', 'ready']);
  });

  it('switches an adapter on that is off, but not against a person', async () => {
    await using stage = await createStage();
    stage.fake.setAdapter('hci0', { Powered: off });
    stage.send(startScan);
    await stage.next('scan_started');
    stage.fake.setAdapter('hci0', { Powered: off });
    await stage.next('scan_stopped');
    await stage.until(() => radioStates(stage).at(-1) === 'adapter_off');
    const calls = stage.fake.calls.filter((member) => member === 'Set').length;
    // Whoever starts the scan wants it on.
    stage.send(startScan);
    await stage.next('scan_started');
    assert.equal(stage.fake.calls.filter((member) => member === 'Set').length, calls + 1);
  });

  it('reports a blocked adapter, and continues when it is not blocked any more', async () => {
    await using stage = await createStage();
    stage.fake.setAdapter('hci0', { Powered: off });
    stage.fake.refusals['Set'] = ['org.bluez.Error.Blocked'];
    stage.send(startScan);
    await stage.until(() => radioStates(stage).at(-1) === 'adapter_blocked');
    stage.fake.setAdapter('hci0', { Powered: new Variant('b', true) });
    await stage.next('scan_started');
    stage.fake.setAdapter('hci0', { Powered: off, PowerState: new Variant('s', 'off-blocked') });
    await stage.next('scan_stopped');
    await stage.until(() => radioStates(stage).at(-1) === 'adapter_blocked');
  });

  it('continues after a restart of bluetoothd', async () => {
    await using stage = await createStage();
    stage.send(startScan);
    await stage.next('scan_started');
    await stage.restartBluez();
    await stage.next('scan_stopped');
    await stage.next('scan_started');
    stage.fake.add(device());
    await stage.next('discovered');
    assert.deepEqual(radioStates(stage), ['ready', 'bluetooth_stopped', 'ready']);
  });

  it('continues after a restart of the bus', async () => {
    await using stage = await createStage();
    stage.send(startScan);
    await stage.next('scan_started');
    await stage.bus.stop();
    await stage.next('scan_stopped');
    await stage.bus.start();
    await stage.restartBluez();
    await stage.next('scan_started');
  });

  it('waits for a bluetoothd that starts later', async () => {
    await using stage = await createStage({ isWithoutBluez: true });
    stage.send(startScan);
    await stage.until(() => radioStates(stage).at(-1) === 'bluetooth_stopped');
    await stage.restartBluez();
    await stage.next('scan_started');
  });

  it('uses the adapter that is named', async () => {
    await using stage = await createStage({ adapter: 'hci1' });
    stage.send(startScan);
    await stage.until(() => radioStates(stage).at(-1) === 'adapter_missing');
    stage.fake.addAdapter('hci1');
    await stage.next('scan_started');
    assert.deepEqual([stage.fake.isDiscovering('hci0'), stage.fake.isDiscovering('hci1')], [false, true]);
  });

  it('starts after BlueZ has said that a discovery is in progress', async () => {
    await using stage = await createStage();
    stage.fake.refusals['StartDiscovery'] = ['org.bluez.Error.InProgress', 'org.bluez.Error.InProgress'];
    stage.send(startScan);
    await stage.next('scan_started');
  });

  it('starts a stalled discovery again', async () => {
    await using stage = await createStage({ limits: { stallMs: 20 } });
    stage.send(startScan);
    await stage.next('scan_started');
    await stage.next('scan_stopped');
    await stage.next('scan_started');
  });

  it('answers a second start, and a stop of what is stopped', async () => {
    await using stage = await createStage();
    stage.send(stopScan);
    await stage.next('scan_stopped');
    stage.send(startScan);
    await stage.next('scan_started');
    stage.fake.add(device());
    await stage.next('discovered');
    stage.send(startScan);
    await stage.next('scan_started');
  });

  it('ends links that an earlier run has left, and those of no one else', async () => {
    await using stage = await createStage();
    const left = [device(), device()];
    const paired = device({ isPaired: true });
    const foreign = device({ services: { '0000180f-0000-1000-8000-00805f9b34fb': [] } });
    for (const one of [...left, paired, foreign]) stage.fake.connectBefore(one);
    stage.send(startScan);
    await stage.next('scan_started');
    assert.deepEqual(
      [...left, paired, foreign].map((one) => stage.fake.isConnected(one)),
      [false, false, true, true],
    );
    await stage.next('discovered');
    await stage.next('discovered');
  });

  it('ends the discovery when it ends', async () => {
    await using stage = await createStage();
    stage.send(startScan);
    await stage.next('scan_started');
    await stage.stop();
    await stage.next('scan_stopped');
    assert.equal(stage.fake.isDiscovering(), false);
  });
});

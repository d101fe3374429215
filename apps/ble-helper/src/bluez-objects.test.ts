import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applySignal, deviceOf, devicePath, findCharacteristic, treeOf, type ObjectTree } from './bluez-objects.ts';

const device = '/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF';
const manager = 'org.freedesktop.DBus.ObjectManager';
const properties = 'org.freedesktop.DBus.Properties';
const signal = (tree: ObjectTree, path: string, name: string, member: string, ...body: unknown[]) =>
  applySignal(tree, { path, interface: name, member, body });

describe('the objects of BlueZ', () => {
  it('follow its signals', () => {
    const tree = treeOf({});
    const added = signal(tree, '/', manager, 'InterfacesAdded', device, {
      'org.bluez.Device1': { RSSI: -1, Name: 'x' },
    });
    assert.deepEqual(added, [
      { kind: 'changed', path: device, interface: 'org.bluez.Device1', keys: ['RSSI', 'Name'] },
    ]);
    const changed = signal(tree, device, properties, 'PropertiesChanged', 'org.bluez.Device1', { Name: 'y' }, ['RSSI']);
    assert.deepEqual(changed, [
      { kind: 'changed', path: device, interface: 'org.bluez.Device1', keys: ['Name', 'RSSI'] },
    ]);
    assert.deepEqual(deviceOf(tree, device), { Name: 'y' });
    signal(tree, '/', manager, 'InterfacesAdded', device, { 'org.bluez.Battery1': {} });
    assert.deepEqual(signal(tree, '/', manager, 'InterfacesRemoved', device, ['org.bluez.Battery1']), []);
    assert.deepEqual(signal(tree, '/', manager, 'InterfacesRemoved', device, ['org.bluez.Device1']), [
      { kind: 'removed', path: device },
    ]);
    assert.equal(tree.size, 0);
  });

  it('do not change by signals about what is not there, or that are odd', () => {
    const tree = treeOf({ '/a': null, '/b': { i: 3 } });
    signal(tree, device, properties, 'PropertiesChanged', 'org.bluez.Device1', { Name: 'y' }, []);
    signal(tree, device, properties, 'PropertiesChanged');
    signal(tree, device, 'org.example', 'Something', 1);
    assert.deepEqual([...tree.keys()], ['/a', '/b']);
  });

  it('name the path of a device', () => assert.equal(devicePath('/org/bluez/hci0', 'AA:BB:CC:DD:EE:FF'), device));

  it('find a characteristic in its service, and say what is missing', () => {
    const characteristicOf = (uuid: string) => ({ 'org.bluez.GattCharacteristic1': { UUID: uuid } });
    const tree = treeOf({
      [`${device}/service1`]: { 'org.bluez.GattService1': { UUID: 'other' } },
      [`${device}/service1/char1`]: characteristicOf('c'),
      [`${device}/service2`]: { 'org.bluez.GattService1': { UUID: 's' } },
      [`${device}/service2/char1`]: characteristicOf('c'),
    });
    const find = (service: string, characteristic: string) =>
      findCharacteristic(tree, device, { service, characteristic });
    assert.deepEqual(find('s', 'c'), { path: `${device}/service2/char1` });
    assert.deepEqual(find('s', 'd'), { missing: 'characteristic' });
    assert.deepEqual(find('t', 'c'), { missing: 'service' });
  });
});

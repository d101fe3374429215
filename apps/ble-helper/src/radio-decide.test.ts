import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { treeOf, type Values } from './bluez-objects.ts';
import {
  adaptersOf,
  chooseAdapter,
  decideScan,
  findLeftover,
  radioStateOf,
  type AdapterFacts,
  type ScanFacts,
  type ScanStep,
} from './radio-decide.ts';

const hci0 = '/org/bluez/hci0';
const adapter = (values: Partial<AdapterFacts> = {}): AdapterFacts => ({
  path: hci0,
  isPowered: true,
  isBlocked: false,
  isCentral: true,
  ...values,
});
const treeWith = (objects: Record<string, Record<string, Values>>) => treeOf(objects);

describe('the adapter', () => {
  it('is read from the objects of BlueZ', () => {
    const tree = treeWith({
      '/org/bluez': {},
      '/org/bluez/hci10': { 'org.bluez.Adapter1': { Powered: false, PowerState: 'off-blocked' } },
      '/org/bluez/hci2': { 'org.bluez.Adapter1': { Powered: true, Roles: ['peripheral'] } },
      '/org/bluez/hci1': { 'org.bluez.Adapter1': { Powered: false } },
    });
    assert.deepEqual(adaptersOf(tree, new Set(['/org/bluez/hci1', '/org/bluez/hci2'])), [
      { path: '/org/bluez/hci1', isPowered: false, isBlocked: true, isCentral: true },
      { path: '/org/bluez/hci2', isPowered: true, isBlocked: false, isCentral: false },
      { path: '/org/bluez/hci10', isPowered: false, isBlocked: true, isCentral: true },
    ]);
  });

  const off = adapter({ path: '/org/bluez/hci1', isPowered: false });
  const peripheral = adapter({ path: '/org/bluez/hci2', isCentral: false });
  const choices: [string, AdapterFacts[], string | null, AdapterFacts | null][] = [
    ['the first that is on', [off, adapter()], null, adapter()],
    ['one that is off, if it can connect', [peripheral, off], null, off],
    ['any, if none can connect', [peripheral], null, peripheral],
    ['the one that is named', [adapter(), off], 'hci1', off],
    ['none, if the named one is missing', [adapter()], 'hci1', null],
    ['none, if there is none', [], null, null],
  ];
  for (const [what, adapters, name, chosen] of choices)
    it(`is ${what}`, () => assert.deepEqual(chooseAdapter(adapters, name), chosen));

  it('gives the state of the radio', () => {
    assert.equal(radioStateOf(false, adapter()), 'bluetooth_stopped');
    assert.equal(radioStateOf(true, null), 'adapter_missing');
    assert.equal(radioStateOf(true, adapter()), 'ready');
    assert.equal(radioStateOf(true, adapter({ isPowered: false })), 'adapter_off');
    assert.equal(radioStateOf(true, adapter({ isPowered: false, isBlocked: true })), 'adapter_blocked');
  });
});

describe('the scan', () => {
  const facts: ScanFacts = {
    nowMs: 1000,
    state: 'ready',
    adapter: adapter(),
    wanted: ['a', 'b'],
    session: null,
    hasTriedPower: false,
    leftover: null,
    stallMs: 500,
  };
  const session = { adapter: hci0, uuids: ['a', 'b'], lastEventMs: 900 };
  const stop: ScanStep = { kind: 'stop', adapter: hci0 };
  const wait: ScanStep = { kind: 'wait', ms: Infinity };
  const rows: [string, Partial<ScanFacts>, ScanStep][] = [
    ['starts when it is wanted', {}, { kind: 'start', adapter: hci0, uuids: ['a', 'b'] }],
    ['waits when it is not wanted', { wanted: null }, wait],
    ['continues', { session }, { kind: 'wait', ms: 400 }],
    ['stops when it is not wanted any more', { session, wanted: null }, stop],
    ['stops when something else is wanted', { session, wanted: ['c'] }, stop],
    ['stops when another adapter is used', { session, adapter: adapter({ path: '/org/bluez/hci1' }) }, stop],
    ['stops when the adapter is missing', { session, adapter: null, state: 'adapter_missing' }, stop],
    ['stops when nothing was received for long', { session: { ...session, lastEventMs: 500 } }, stop],
    ['waits for an adapter', { adapter: null, state: 'adapter_missing' }, wait],
    ['switches the adapter on', { state: 'adapter_off' }, { kind: 'power_on', adapter: hci0 }],
    ['switches it on once', { state: 'adapter_off', hasTriedPower: true }, wait],
    ['leaves a blocked adapter alone', { state: 'adapter_blocked' }, wait],
    ['waits for bluetoothd', { adapter: null, state: 'bluetooth_stopped' }, wait],
    ['first ends a link that was left', { leftover: '/d' }, { kind: 'disconnect', adapter: hci0, device: '/d' }],
  ];
  for (const [what, change, step] of rows) it(what, () => assert.deepEqual(decideScan({ ...facts, ...change }), step));
});

it('finds links that were left, of its own devices only', () => {
  const device = (values: Values) => ({ 'org.bluez.Device1': { Connected: true, UUIDs: ['a'], ...values } });
  const find = (values: Values, path = `${hci0}/dev_1`) =>
    findLeftover(treeWith({ [path]: device(values) }), hci0, ['a', 'b']);
  assert.equal(find({}), `${hci0}/dev_1`);
  assert.equal(find({ Connected: false }), null);
  assert.equal(find({ Paired: true }), null);
  assert.equal(find({ Trusted: true }), null);
  assert.equal(find({ UUIDs: ['c'] }), null);
  assert.equal(find({}, '/org/bluez/hci1/dev_1'), null);
});

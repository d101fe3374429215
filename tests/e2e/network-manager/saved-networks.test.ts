import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { managerName } from '@station/agent/wifi/adapters/network-manager/objects';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { createStage, profile, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await createStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

const text = (value: string) => new Variant('s', value);
const keyed = (keys: Record<string, string>) => ({
  '802-11-wireless-security': Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, text(value)])),
});
const named = (name: string, rest: object = {}) => ({ ...profile(name), ...rest });

test('a backup holds the networks that are joined automatically, and counts those that it cannot hold', async () => {
  stage.fake.addProfile(named('Home', keyed({ 'key-mgmt': 'wpa-psk', psk: 'first key' })));
  stage.fake.addProfile(named('Cafe', { '802-11-wireless-security': {} }));
  stage.fake.addProfile(named('Office', keyed({ 'key-mgmt': 'wpa-eap' })));
  stage.fake.addProfile(named('New', keyed({ 'key-mgmt': 'sae', psk: 'second key' })));
  const found = await stage.radio.saved.read();
  assert.equal(found?.unsupported, 2);
  const expected = [
    { ssid: ssidFromText('Home'), security: 'wpa2', hidden: false, password: 'first key' },
    { ssid: ssidFromText('New'), security: 'wpa3', hidden: false, password: 'second key' },
  ];
  assert.deepEqual(found?.networks, expected);
});

test('networks of a backup are added on disk and not joined; known ones stay as they are', async () => {
  stage.fake.addProfile(named('Home', keyed({ 'key-mgmt': 'wpa-psk', psk: 'here' })));
  const saved = [
    { ssid: ssidFromText('Home'), security: 'wpa2', hidden: false, password: 'of the backup' },
    { ssid: ssidFromText('Cellar'), security: 'wpa3', hidden: true, password: 'a password' },
  ] as const;
  assert.deepEqual(await stage.radio.saved.add(saved), { added: 1, kept: 1, refused: 0 });
  const [added, more] = stage.fake.added;
  assert.equal(more, undefined);
  assert.deepEqual(added?.options, { flags: 1 });
  assert.deepEqual(added?.settings['802-11-wireless-security'], { 'key-mgmt': 'sae', psk: 'a password' });
  assert.equal(added?.settings['802-11-wireless']?.['hidden'], true);
  assert.equal(
    stage.fake.calls.some((member) => member.startsWith('Activate')),
    false,
  );
  assert.deepEqual(await stage.radio.saved.add(saved), { added: 0, kept: 2, refused: 0 });
});

test('a network that NetworkManager refuses is counted, and the others are added', async () => {
  stage.fake.refusals.push(`${managerName}.Settings.Connection.InvalidProperty`);
  const network = { security: 'wpa2', hidden: false, password: 'a password' } as const;
  const saved = ['One', 'Two'].map((name) => ({ ...network, ssid: ssidFromText(name) }));
  assert.deepEqual(await stage.radio.saved.add(saved), { added: 1, kept: 0, refused: 1 });
});

test('restores of ever new networks fill no disk, and one that is named twice is added once', async () => {
  const network = { security: 'wpa2', hidden: false, password: 'a password' } as const;
  const made = (restore: number) =>
    Array.from({ length: 60 }, (_, index) => ({ ...network, ssid: ssidFromText(`Net ${restore} ${index % 50}`) }));
  assert.deepEqual(await stage.radio.saved.add(made(1)), { added: 50, kept: 10, refused: 0 });
  assert.deepEqual(await stage.radio.saved.add(made(2)), { added: 50, kept: 10, refused: 0 });
  assert.deepEqual(await stage.radio.saved.add(made(3)), { added: 0, kept: 0, refused: 60 });
  assert.equal(stage.fake.added.length, 100);
});

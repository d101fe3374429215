import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { claimCodeOf, eventChannels } from './cloud.ts';
import { cloudMessages, legacyMessageTypes } from './cloud-messages.ts';
import { cloudMethods, cloudNotifications } from './cloud-rpc.ts';

test('has the four methods and seven legacy messages of the specification', () => {
  const methods = [
    'device.command',
    'devices.snapshot',
    'device_types.list',
    'scenes.list',
    'scene.run',
    'station.setActiveChannels',
  ];
  assert.deepEqual(Object.keys(cloudMethods), methods);
  assert.equal(new Set(legacyMessageTypes).size, 7);
  for (const type of legacyMessageTypes) assert.ok(Object.hasOwn(cloudMessages, type));
});

test('each channel has a notification, and each notification is on a channel', () => {
  const used = new Set(Object.values(cloudNotifications).map(({ channel }) => channel));
  assert.deepEqual([...used].sort(), [...eventChannels].sort());
});

const member = { cloudUserId: 'c1', email: 'olena@example.org', name: 'Olena', role: 'owner' };

test('ignores unknown keys in messages of the cloud', () => {
  const grown = { type: 'member_added', at: 'now', member: { ...member, avatar: 'x' } };
  assert.ok(Value.Check(cloudMessages.member_added, grown));
  assert.ok(Value.Check(cloudMessages.auth_ok, { type: 'auth_ok', acks: true, serverTime: 1 }));
});

test('refuses messages with harmful values', () => {
  const refused: [keyof typeof cloudMessages, unknown][] = [
    ['member_added', { type: 'member_added', member: { ...member, email: 'nobody' } }],
    ['member_added', { type: 'member_added', member: { ...member, role: 'root' } }],
    ['station_renamed', { type: 'station_renamed', name: '   ' }],
    ['identity_sync', { type: 'identity_sync', station: { name: 'Home' }, members: [] }],
    ['ack', { type: 'ack', seq: '1' }],
    ['claim_success', { type: 'claim_success', stationToken: '' }],
  ];
  for (const [type, message] of refused) {
    assert.ok(!Value.Check(cloudMessages[type], message), JSON.stringify(message));
  }
  const { params } = cloudMethods['station.setActiveChannels'];
  assert.ok(!Value.Check(params, { channels: ['state', 'nonsense'] }));
  assert.ok(Value.Check(params, { channels: [] }));
  assert.ok(!Value.Check(cloudMethods['device.command'].params, { deviceId: 'd', command: {} }));
});

test('the QR code of an unclaimed station has its chip id and its secret as JSON, and nothing else', () => {
  const claim = { chipId: 'chip', claimSecret: 'BCDF-2345', uri: 'https://cloud.example.org/claim' };
  assert.equal(claimCodeOf(claim), '{"chipId":"chip","claimSecret":"BCDF-2345"}');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coversTopics, deviceTopic, deviceTopicEnds, parseDeviceTopic, subscriptions } from './topics.ts';

test('reads back a topic that it built', () => {
  for (const end of deviceTopicEnds) {
    const topic = deviceTopic('5b6e7c3a', 'climate-1', end);
    assert.deepEqual(parseDeviceTopic(topic), { stationId: '5b6e7c3a', externalId: 'climate-1', end });
  }
  assert.equal(deviceTopic('s', 'd', 'handshake/ack'), 'station/s/device/d/handshake/ack');
  assert.equal(subscriptions[1], 'station/+/device/+/state');
});

test('reads only topics that devices publish to', () => {
  const topics = [
    '',
    'station',
    'station/s/device/d',
    'station/s/device/d/',
    'station/s/device/d/command',
    'station/s/device/d/handshake/ack',
    'station/s/device/d/state/',
    'station/s/device/d/state/more/levels/than/that',
    'station//device/d/state',
    'station/s/device//state',
    'station/s/gadget/d/state',
    '/station/s/device/d/state',
    `station/s/device/${'d'.repeat(65)}/state`,
    'station/s/device/d\u0000/state',
    'station/s/device/d/toString',
  ];
  for (const topic of topics) assert.equal(parseDeviceTopic(topic), null, topic);
});

test('refuses an external id with topic syntax', () => {
  for (const externalId of ['', '+', '#', 'a/b', 'a+b', 'line\nbreak', 'd'.repeat(65)]) {
    assert.throws(() => deviceTopic('s', externalId, 'state'), RangeError, externalId);
  }
});

test('a filter covers the topics and the filters that are not wider', () => {
  const table: readonly [filter: string, topics: string, covers: boolean][] = [
    ['house/#', 'house/lamp', true],
    ['house/#', 'house', true],
    ['house/#', 'house/#', true],
    ['house/#', 'house/+/set', true],
    ['house/#', 'houses/lamp', false],
    ['house/#', '#', false],
    ['house/#', '+/lamp', false],
    ['house/#', '$share/group/house/lamp', false],
    ['house/+/set', 'house/lamp/set', true],
    ['house/+/set', 'house/+/set', true],
    ['house/+/set', 'house//set', true],
    ['house/+/set', 'house/lamp', false],
    ['house/+/set', 'house/lamp/set/on', false],
    ['house/+/set', 'house/hall/lamp/set', false],
    ['house/+/set', 'house/#', false],
    ['house/+/set', 'house/#/set', false],
    ['house/+/#', 'house/#', false],
    ['house/+/set/#', 'house/lamp/set', true],
    ['house/+/set/#', 'house/lamp/set/on', true],
    ['house/status', 'house/status', true],
    ['house/status', 'house/+', false],
    ['#', 'house/lamp', true],
    ['#', '$SYS/broker', false],
    ['+/broker', '$SYS/broker', false],
    ['house', '', false],
  ];
  for (const [filter, topics, covers] of table) {
    assert.equal(coversTopics(filter, topics), covers, `${filter} covers ${topics}`);
  }
});

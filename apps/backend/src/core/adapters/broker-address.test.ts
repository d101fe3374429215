import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokerAddress } from './broker-address.ts';

test('the address of a broker in parts, as MQTT.js would read it', () => {
  assert.deepEqual(brokerAddress('mqtt://mqtt:1884'), { protocol: 'mqtt', host: 'mqtt', port: 1884 });
  assert.deepEqual(brokerAddress('mqtts://broker.example'), { protocol: 'mqtts', host: 'broker.example' });
  assert.deepEqual(brokerAddress('mqtt://[fd00::1]:1883'), { protocol: 'mqtt', host: 'fd00::1', port: 1883 });
  const login = { username: 'back end', password: 'a:b@c/d' };
  const url = `mqtt://${encodeURIComponent(login.username)}:${encodeURIComponent(login.password)}@mqtt`;
  assert.deepEqual(brokerAddress(url), { protocol: 'mqtt', host: 'mqtt', ...login });
  const bare = { username: '50%', password: '100%a' };
  assert.deepEqual(brokerAddress('mqtt://50%:100%a@mqtt'), { protocol: 'mqtt', host: 'mqtt', ...bare });
});

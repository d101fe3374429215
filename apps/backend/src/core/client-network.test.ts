import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './client-network.ts';

test('an IPv4 address is its own network, also as IPv6 writes it', () => {
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:192.0.2.7'])
    assert.equal(networkOf(address), '192.0.2.7');
  assert.notEqual(networkOf('192.0.2.8'), networkOf('192.0.2.7'));
});

test('IPv6 addresses of one /64 are one network, however they are written', () => {
  const same = [
    '2001:db8:0:1::5',
    '2001:DB8::1:0:0:0:6',
    '2001:0db8:0000:0001:ffff:ffff:ffff:ffff',
    '2001:db8:0:1:2:3:4:5%eth0',
  ];
  for (const address of same) assert.equal(networkOf(address), '2001:db8:0:1::/64');
  assert.equal(networkOf('2001:db8:0:2::5'), '2001:db8:0:2::/64');
  assert.equal(networkOf('fe80::1'), 'fe80:0:0:0::/64');
  assert.equal(networkOf('::1'), '0:0:0:0::/64');
});

test('what is no address stands for itself', () => assert.equal(networkOf('unknown'), 'unknown'));

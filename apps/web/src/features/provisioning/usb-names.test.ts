import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceName, networkNames } from './usb-names.ts';

test('a device on the cable turns no text, breaks no line and fills no page with its name', () => {
  assert.equal(deviceName('Лампа саду 💡'), 'Лампа саду 💡');
  assert.equal(deviceName(' \u202Elamp\u2069\u0000\r\n\u2028 '), 'lamp');
  assert.equal(deviceName('\u200F\u0007'), '');
  assert.equal(deviceName('x'.repeat(255)).length, 100);
});

test('networks are named once, and as they are', () => {
  assert.deepEqual(networkNames(['Дім', 'Home', 'Дім', '', '\u202EemoH', 'Home\n', 'x'.repeat(33), 'Д'.repeat(17)]), [
    'Дім',
    'Home',
  ]);
  assert.equal(networkNames(Array.from({ length: 500 }, (_, at) => `net ${at}`)).length, 100);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Language, languages } from '@station/protocol/languages';
import type { Alert } from './alert.ts';
import { render, shortened } from './render.ts';

const devices = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `d${index}`, name: `Lamp ${index}` }));

test('one device is named in the title and opened by it, many are counted and listed in part', () => {
  assert.deepEqual(render({ kind: 'devices_offline', devices: devices(1) }, 'en'), {
    title: 'Lamp 0 is offline',
    text: '',
    path: '/devices/d0',
  });
  const many = render({ kind: 'devices_offline', devices: devices(200) }, 'en');
  assert.equal(many.title, '200 devices are offline');
  assert.match(many.text, /^Lamp 0, .*Lamp 7 and 192 more$/);
});

test('every language has its own plural forms', () => {
  const titles = (language: Language): string[] =>
    [2, 5, 21].map((count) => render({ kind: 'devices_back', devices: devices(count) }, language).title);
  assert.deepEqual(titles('uk'), [
    'Знову на зв’язку: 2 пристрої',
    'Знову на зв’язку: 5 пристроїв',
    'Знову на зв’язку: 21 пристрій',
  ]);
  assert.equal(titles('de')[0], '2 Geräte sind wieder online');
});

test('no message is the same in two languages', () => {
  const alerts: Alert[] = [
    { kind: 'devices_unstable', devices: devices(1) },
    { kind: 'battery_low', devices: devices(12) },
    { kind: 'update_failed', version: null, kept: '1.0.0' },
    { kind: 'update_rolled_back', version: '1.1.0', kept: null },
    { kind: 'rollback_failed', version: '1.0.0', kept: null },
    { kind: 'conditions_over', conditions: ['storage_full'], isFault: true },
    { kind: 'test' },
  ];
  for (const alert of alerts) {
    const said = languages.map((language) => render(alert, language));
    for (const part of ['title', 'text'] as const) {
      const texts = said.map((message) => message[part]).filter((text) => text !== '');
      assert.equal(new Set(texts).size, texts.length, JSON.stringify(texts));
    }
  }
});

test('conditions have the names that pages show; an unknown one is shown as it is', () => {
  const alert = {
    kind: 'conditions_raised',
    conditions: ['storage_full', 'stack_unhealthy', 'new_one'],
    isFault: true,
  } as const;
  assert.equal(render(alert, 'en').text.split('\n')[0], 'The disk is full');
  assert.deepEqual(render(alert, 'uk').text.split('\n'), [
    'Диск заповнено',
    'Служби не проходять перевірку справності',
    'new_one',
  ]);
});

test('one message of an automation is shown as it is, several are listed', () => {
  const leak = { name: 'Leak', text: 'Water in the bathroom' };
  assert.equal(render({ kind: 'automations', messages: [leak], more: 0 }, 'en').title, 'Leak');
  const several = render({ kind: 'automations', messages: [leak, leak], more: 3 }, 'en');
  assert.equal(several.title, '5 messages from automations');
  assert.match(several.text, /and 3 more$/);
});

test('a message of an automation without a name is its own title', () => {
  const leak = { name: '', text: 'Water in the bathroom' };
  const one = { title: leak.text, text: '', path: '/activity' };
  assert.deepEqual(render({ kind: 'automations', messages: [leak], more: 0 }, 'en'), one);
  assert.equal(
    render({ kind: 'automations', messages: [leak, leak], more: 0 }, 'en').text,
    `${leak.text}\n${leak.text}`,
  );
});

test('a name with line breaks or characters that turn text around stays one line, in its order', () => {
  const named = (name: string) => render({ kind: 'devices_offline', devices: [{ id: 'd', name }] }, 'en').title;
  assert.equal(named('Lamp\r\nBcc: x\u2028\u202eoff'), 'Lamp  Bcc: x  off is offline');
  for (const name of ['מנורה', 'مصباح', 'چراغ\u200cخواب', '👩\u200d🚀', '"Lamp" <x@y>'])
    assert.equal(named(name), `${name} is offline`);
  const said = { name: 'Leak\nnow', text: 'Water\nin the \u202ebathroom\u0007' };
  const { title, text } = render({ kind: 'automations', messages: [said], more: 0 }, 'en');
  assert.deepEqual([title, text], ['Leak now', 'Water\nin the  bathroom ']);
});

test('a text that is shortened has no half characters', () => {
  assert.equal(shortened('Flame 🔥🔥', 10), 'Flame 🔥🔥');
  assert.equal(shortened('Flame 🔥🔥', 9), 'Flame 🔥…');
  assert.equal(shortened('Flame 🔥🔥', 8), 'Flame …');
});

test('firmware is called by the name of its type, where it has one', () => {
  const alert = { kind: 'firmware_stopped', firmware: 'light', names: { en: 'Light' }, version: '2.0.0' } as const;
  assert.equal(render(alert, 'en').title, 'The firmware update of Light to 2.0.0 was stopped');
  assert.equal(render(alert, 'uk').title, 'Light: оновлення прошивки до 2.0.0 зупинено');
  assert.equal(render({ ...alert, names: {} }, 'uk').title, 'light: оновлення прошивки до 2.0.0 зупинено');
  assert.equal(render(alert, 'en').path, '/settings/updates');
});

test('conditions of the cloud alone lead to its page', () => {
  const raised = (conditions: string[]) => render({ kind: 'conditions_raised', conditions, isFault: false }, 'en').path;
  assert.deepEqual(
    [raised(['cloud_rejected']), raised(['cloud_rejected', 'storage_full'])],
    ['/settings/remote', '/settings/diagnostics'],
  );
});

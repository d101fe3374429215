import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance } from 'i18next';
import { type ActivityBy, activityEvents, deviceEvents } from '@station/protocol/activity';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import type { DeviceEvent } from '@station/protocol/devices';
import { textsOf } from '../../../testing/texts-of.ts';
import { type EntryContext, entryWords, searchedText } from './activity-words.ts';

async function context(language: 'en' | 'uk'): Promise<EntryContext> {
  const i18n = createInstance();
  const translation = await textsOf(language);
  await i18n.init({ lng: language, resources: { [language]: { translation } }, interpolation: { escapeValue: false } });
  return {
    t: i18n.t,
    locale: language === 'en' ? 'en-GB' : 'uk',
    nameOf: (id) => ({ name: id === 'lamp' ? 'Hall lamp' : 'Removed device', isThere: id === 'lamp' }),
    typeOf: (id) => (id === 'lamp' ? findBuiltInType('light') : undefined),
  };
}

const olena: ActivityBy = { kind: 'person', id: 'o', name: 'Olena', person: 'Olena' };
const entry = (kind: string, data: DeviceEvent['data'], more: Partial<DeviceEvent> = {}): DeviceEvent => ({
  id: '1',
  deviceId: null,
  kind,
  data,
  at: '2026-03-01T10:00:00.000Z',
  ...more,
});
const command = (by: ActivityBy, status = 'confirmed', deviceId = 'lamp'): DeviceEvent =>
  entry('command', { action: 'turn_on', status }, { deviceId, by });
const plain = (words: string): string => words.replaceAll('\u00a0', ' ');

test('a command says what it set, who or what gave it, and when it did not work', async () => {
  const english = await context('en');
  const said = (event: DeviceEvent): string => plain(searchedText(entryWords(english, event)));
  const scene = (id: string | null, name: string | null, person: string | null): ActivityBy => ({
    kind: 'scene',
    id,
    name,
    person,
  });
  const dusk = (name: string | null): ActivityBy => ({ kind: 'automation', id: 'a', name, person: null });
  assert.deepEqual(
    [
      command(olena),
      command({ ...olena, name: null }, 'expired'),
      command(scene('s', 'Evening', 'Olena')),
      command(scene('s', null, null)),
      command(scene(null, null, 'Olena'), 'failed'),
      command(dusk('Dusk')),
      command(dusk('')),
      command(dusk(null)),
      command({ kind: 'cloud', id: null, name: null, person: null }),
      command(olena, 'confirmed', 'gone'),
    ].map(said),
    [
      'Hall lamp Light: On by Olena',
      'Hall lamp Light: On (not confirmed by the device) by a removed person',
      'Hall lamp Light: On by scene Evening, Olena',
      'Hall lamp Light: On by a scene',
      'Hall lamp Light: On (it failed) by a scene, Olena',
      'Hall lamp Light: On by automation Dusk',
      'Hall lamp Light: On by an automation',
      'Hall lamp Light: On by a removed automation',
      'Hall lamp Light: On through the cloud',
      'Removed device Turn on by Olena',
    ],
  );
  assert.equal(entryWords(english, command(olena)).subject?.href, '/devices/lamp');
  assert.equal(entryWords(english, command(olena, 'confirmed', 'gone')).subject?.href, null);
});

test('events of the station and its people are told in the language of the reader', async () => {
  const events = [
    entry('rolled_back', { from: '1.2.0', to: '1.1.0', isManual: false }, { by: null }),
    entry('condition_raised', { source: 'station', condition: 'storage_low', severity: 'warning' }, { by: null }),
    entry('clock_corrected', { stepMs: -3_600_000 }, { by: null }),
    entry('member_added', { userId: 'm', name: 'Maria', role: 'member' }, { by: olena }),
    entry(
      'new_login',
      {
        userId: 'o',
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        address: '10.0.0.2',
      },
      { by: olena },
    ),
    entry('device_added', { deviceId: 'lamp', name: 'Lamp' }, { by: olena }),
    entry('device_removed', { deviceId: 'fan', name: 'Fan' }, { by: null }),
  ];
  const say = async (language: 'en' | 'uk'): Promise<string[]> => {
    const around = await context(language);
    return events.map((event) => plain(searchedText(entryWords(around, event))));
  };
  assert.deepEqual(await say('en'), [
    '1.2.0 did not pass its check, rolled back to 1.1.0',
    'Needs attention: The disk is nearly full',
    'The clock was corrected by 1 h',
    'Maria was added (Member) by Olena',
    'Olena logged in on a new device (Firefox on Linux, 10.0.0.2)',
    'Hall lamp Added by Olena',
    'Fan Removed',
  ]);
  assert.deepEqual(await say('uk'), [
    '1.2.0 не пройшов перевірку, повернулися до 1.1.0',
    'Потребує уваги: На диску майже немає місця',
    'Годинник переведено на 1 год',
    `Додано учасника: Maria (${(await textsOf('uk')).account.role.member}) Olena`,
    'Вхід із нового пристрою: Olena (Firefox, Linux, 10.0.0.2)',
    'Hall lamp Додано Olena',
    'Fan Вилучено',
  ]);
});

test('every event of the catalogue has words; what is unknown is an event of a device', async () => {
  for (const language of ['en', 'uk'] as const) {
    const around = await context(language);
    for (const kind of Object.keys(activityEvents)) {
      const { what, subject } = entryWords(around, entry(kind, {}, { by: olena }));
      assert.equal(subject !== null, Object.hasOwn(deviceEvents, kind));
      assert.doesNotMatch(what, /activityLog/, `${language}: ${kind}`);
      assert.ok(what !== around.t('device.event.some'), `${language}: ${kind}`);
    }
    assert.equal(entryWords(around, entry('from_the_future', {})).what, around.t('device.event.some'));
  }
});

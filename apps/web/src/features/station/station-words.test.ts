import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import { type ConditionStatus, type HistoryEntry, operationKinds, operationPhases } from '@station/protocol/agent-api';
import { Problem, type ProblemCode } from '../../api/request.ts';
import { conditionWords } from '../../i18n/condition-words.ts';
import { textsOf } from '../../../testing/texts-of.ts';
import { problemWords } from '../../i18n/words.ts';
import { healthOf, toneOf } from './health.ts';
import { sampleEntry, sampleOperation, sampleStatus } from './sample-status.ts';
import { stepsOf } from './outcome.ts';
import { healthWords, reasonWords, resultWords, shortImage, stepWords } from './station-words.ts';

let english: TFunction;
let ukrainian: TFunction;
describe('the texts of the station page', () => {
  before(async () => {
    const i18n = createInstance();
    const resources = { en: { translation: await textsOf('en') }, uk: { translation: await textsOf('uk') } };
    await i18n.init({ lng: 'en', resources, fallbackLng: false, interpolation: { escapeValue: false } });
    english = i18n.getFixedT('en');
    ukrainian = i18n.getFixedT('uk');
  });

  const plain = (text: string): string => text.replaceAll('\u00a0', ' ');
  const condition = (id: string, severity: ConditionStatus['severity']): ConditionStatus => ({
    id,
    severity,
    message: 'The disk hums.',
    since: '2026-11-20T10:00:00.000Z',
  });
  const line = (status: ReturnType<typeof sampleStatus>): string => healthWords(english, healthOf(status));

  test('a nearly full disk says what takes the space, if the station knows', () => {
    const sizes = { freeMb: 20, databaseMb: 60, otherMb: 940 };
    const cases: [Record<string, unknown>, string, string][] = [
      [{ freeMb: 20 }, 'About 20 MB are free. The oldest', 'Вільно близько 20 МБ. Перш ніж'],
      [{ ...sizes, filledBy: 'database' }, 'data takes most of the disk: 60 MB', 'дані самої станції: 60 МБ'],
      [{ ...sizes, filledBy: 'other' }, 'other files take 940 MB', 'інші файли 940 МБ'],
    ];
    for (const [details, inEnglish, inUkrainian] of cases) {
      const shown = { ...condition('storage_low', 'warning'), details };
      assert.ok(conditionWords(english, shown).help.includes(inEnglish));
      assert.ok(conditionWords(ukrainian, shown).help.includes(inUkrainian));
    }
  });

  test('the health line shows the most important thing, and only that', () => {
    const down = { name: 'backend', image: 'b', state: 'exited', health: 'none' };
    const crashing = { name: 'mqtt', image: 'm', state: 'restarting', health: 'none' };
    const operation = sampleOperation();
    const cases: [Parameters<typeof sampleStatus>[0], string, string][] = [
      [{}, 'Everything is fine', 'ok'],
      [{ updateAvailable: true, latestVersion: '1.2.0' }, 'Everything is fine, and 1.2.0 is ready', 'ok'],
      [{ operation }, 'Updating to 1.2.0', 'working'],
      [{ operation, currentVersion: null }, 'Installing 1.2.0', 'working'],
      [{ operation: { ...operation, version: null } }, 'Updating to the new release', 'working'],
      [{ operation: { ...operation, kind: 'rollback', version: '1.0.0' } }, 'Rolling back to 1.0.0', 'working'],
      [{ operation: { ...operation, phase: 'reverting' } }, '1.2.0 did not work. Rolling back to 1.1.0', 'attention'],
      [{ operation: { ...operation, kind: 'bootstrap', phase: 'switching' } }, 'Starting the services', 'working'],
      [{ stack: { services: [down] } }, 'Backend is not working', 'fault'],
      [{ stack: { services: [down, crashing] } }, '2 services are not working', 'fault'],
      [{ conditions: [condition('clock_behind', 'warning')] }, 'Running, but 1 thing needs attention', 'attention'],
      [{ conditions: [condition('manifest_unreachable', 'info')] }, 'Everything is fine', 'ok'],
      [
        { conditions: [condition('clock_behind', 'warning'), condition('disk_space_low', 'fault')] },
        'Not enough free space for the new release',
        'fault',
      ],
      [{ currentVersion: null, stack: { services: [] } }, 'No release is installed yet', 'attention'],
    ];
    for (const [change, words, tone] of cases) {
      assert.equal(line(sampleStatus(change)), words);
      assert.equal(toneOf(healthOf(sampleStatus(change))), tone, words);
    }
  });

  test('a release that is held back is not offered as ready', () => {
    const quarantined = [{ version: '1.2.0', reason: 'x', at: '2026-11-20T10:00:00.000Z' }];
    assert.equal(
      line(sampleStatus({ updateAvailable: true, latestVersion: '1.2.0', quarantined })),
      'Everything is fine',
    );
  });

  test('Ukrainian has the right plural forms', () => {
    const warnings = (count: number) => Array.from({ length: count }, (_, index) => condition(`c${index}`, 'warning'));
    const texts = [1, 2, 5].map((count) =>
      healthWords(ukrainian, healthOf(sampleStatus({ conditions: warnings(count) }))),
    );
    assert.deepEqual(texts, [
      'Працює, але 1 річ потребує уваги',
      'Працює, але 2 речі потребують уваги',
      'Працює, але 5 речей потребують уваги',
    ]);
  });

  test('every step of every operation has a text in both languages', () => {
    let seen = 0;
    for (const kind of operationKinds) {
      for (const phase of operationPhases) {
        const operation = sampleOperation({ kind, phase });
        for (const step of stepsOf(operation)) {
          for (const t of [english, ukrainian]) {
            const words = stepWords(t, step, operation, sampleStatus());
            assert.doesNotMatch(words, /station\.step|\{\{/, `${kind} ${phase} ${step.id} ${step.state}`);
            seen += 1;
          }
        }
      }
    }
    assert.ok(seen > 100);
  });

  test('a result names the release, the version that runs, and the downtime', () => {
    const resultOf = (change: Partial<HistoryEntry>, unhealthy = false) => {
      const status = sampleStatus({ conditions: unhealthy ? [condition('stack_unhealthy', 'fault')] : [] });
      const { title, now, figures } = resultWords(english, 'en-GB', sampleEntry(change), status);
      return plain([title, now, figures].join(' | '));
    };
    assert.equal(resultOf({}), 'Updated to 1.1.0 |  | offline for 1.3 s · took 24 s');
    assert.equal(
      resultOf({
        from: '1.1.0',
        to: '1.2.0',
        result: 'rolled_back',
        reason: 'a service keeps crashing',
        downtimeMs: 3_900,
      }),
      '1.2.0 did not become healthy and was rolled back | 1.1.0 is running. | offline for 3.9 s · took 24 s',
    );
    assert.equal(
      resultOf({ kind: 'rollback', result: 'rolled_back', from: '1.1.0', to: '1.0.0' }),
      'Rolled back to 1.0.0 |  | offline for 1.3 s · took 24 s',
    );
    assert.equal(
      resultOf({ kind: 'rollback', result: 'rolled_back', from: '1.1.0', to: '1.0.0', reason: 'not healthy' }),
      'The rollback to 1.0.0 failed | 1.1.0 is running. | offline for 1.3 s · took 24 s',
    );
    assert.equal(
      resultOf({ result: 'failed', from: '1.1.0', to: '1.2.0', reason: 'no such image', downtimeMs: null }),
      '1.2.0 could not be installed | 1.1.0 was not changed and is running. | took 24 s',
    );
    const neither = {
      result: 'failed',
      from: '1.1.0',
      to: '1.2.0',
      reason: 'x',
      downtimeMs: null,
      isSwitched: true,
    } as const;
    assert.equal(
      resultOf(neither, true),
      '1.2.0 could not be installed | Neither release became healthy. The station keeps trying to start 1.1.0. | took 24 s',
    );
    assert.equal(
      resultOf(neither),
      '1.2.0 could not be installed | 1.1.0 is running. | took 24 s',
      'it came back since',
    );
    assert.equal(
      resultOf({ ...neither, kind: 'rollback' }),
      'The rollback to 1.2.0 failed | 1.1.0 is running. | took 24 s',
    );
    assert.equal(
      resultOf({ ...neither, isSwitched: false }, true),
      '1.2.0 could not be installed |  | took 24 s',
      'nothing runs that could be named',
    );
    assert.equal(resultOf({ from: null, to: '1.0.0' }), 'Installed 1.0.0 |  | took 24 s');
    assert.equal(resultOf({ downtimeMs: 0 }), 'Updated to 1.1.0 |  | without downtime · took 24 s');
  });

  test('a condition that this page does not know is shown in the station’s own text', () => {
    assert.deepEqual(conditionWords(english, condition('disk_hums', 'warning')), { title: 'The disk hums.', help: '' });
    assert.deepEqual(reasonWords(ukrainian, { code: 'brand_new', reason: 'flux' }), {
      sentence: null,
      own: 'flux',
    });
    assert.deepEqual(reasonWords(english, { code: null, reason: '' }), { sentence: 'It did not work.', own: null });
    const odd = new Problem('brand_new' as ProblemCode, 'Something new happened.');
    assert.equal(problemWords(english, 'en-GB', odd), 'Something new happened.');
  });

  test('too many attempts shows for how long', () => {
    const problem = new Problem('too_many_requests', '', { retryAfterSeconds: 90 });
    assert.equal(plain(problemWords(english, 'en-GB', problem)), 'Too many attempts. Try again in 1 min 30 s.');
    assert.equal(plain(problemWords(ukrainian, 'uk', problem)), 'Забагато спроб. Спробуйте знову через 1 хв 30 с.');
  });

  test('an image is named by its end', () => {
    assert.equal(shortImage('registry.example:5000/station/backend:1.1.0'), 'backend:1.1.0');
    assert.equal(shortImage(`station/backend@sha256:${'ab'.repeat(32)}`), 'backend@abababababab');
  });
});

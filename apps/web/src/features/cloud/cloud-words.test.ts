import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance } from 'i18next';
import { cloudRequests, type CloudActivity } from '@station/protocol/cloud-activity';
import { cloudStates, type CloudStatus } from '@station/protocol/cloud';
import { cloudConditions } from '@station/protocol/cloud-conditions';
import { textsOf } from '../../../testing/texts-of.ts';
import { cloudHeadline, requestWords } from './cloud-words.ts';

const i18n = createInstance();
await i18n.init({
  lng: 'en',
  resources: { en: { translation: await textsOf('en') } },
  interpolation: { escapeValue: false },
});
const { t } = i18n;
const at = '2026-11-21T12:00:00.000Z';
const status = (more: Partial<CloudStatus>): CloudStatus => ({
  state: 'authenticated',
  host: 'cloud.example.org',
  isHeldHere: true,
  connectedSince: at,
  claimedAt: at,
  lastHeardAt: at,
  lastError: null,
  nextAttemptAt: null,
  activeChannels: [],
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 1, dropped: 0, deadLetters: 0 },
  conditions: [],
  askedAt: null,
  ...more,
});
const condition = (id: keyof typeof cloudConditions) => ({ id, ...cloudConditions[id], since: at });

test('each state of the link has a sentence of its own', () => {
  const sentences = cloudStates.map((state) => cloudHeadline(t, status({ state })).words);
  assert.equal(new Set(sentences).size, cloudStates.length, sentences.join('\n'));
});

test('what is wrong comes before how the link is', () => {
  const headline = (more: Partial<CloudStatus>) => Object.values(cloudHeadline(t, status(more))).join(': ');
  assert.equal(headline({}), 'ok: Connected to cloud.example.org');
  const warning = [condition('cloud_dead_letters')];
  assert.equal(headline({ conditions: warning }), 'attention: Connected to cloud.example.org, 1 thing needs attention');
  const fault = [...warning, condition('cloud_outbox_full')];
  assert.equal(headline({ conditions: fault }), 'fault: Messages for the cloud are being lost');
  assert.equal(
    headline({ state: 'unclaimed', lastError: 'x' }),
    'attention: cloud.example.org cannot be reached right now',
  );
  assert.equal(headline({ isHeldHere: false }), 'working: Another backend of this station holds the link');
});

test('every request of the cloud has a text, with the device it is for', () => {
  const entry = (request: CloudActivity['request'], deviceId: string | null): CloudActivity => ({
    at,
    request,
    deviceId,
    action: 'reboot',
    outcome: 'done',
    times: 1,
  });
  const nameOf = (id: string) => (id === 'lamp' ? 'Hall lamp' : null);
  for (const request of cloudRequests) assert.notEqual(requestWords(t, entry(request, null), nameOf), request);
  assert.equal(requestWords(t, entry('device.command', 'lamp'), nameOf), '“reboot” to Hall lamp');
  assert.equal(requestWords(t, entry('device.command', 'x'), nameOf), '“reboot” to a device that is not here');
});

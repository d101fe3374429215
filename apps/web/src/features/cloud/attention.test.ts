import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import { cloudConditions, type CloudConditionId } from '@station/protocol/cloud-conditions';
import { cloudAttentionOf } from './attention.ts';

const at = '2026-11-21T12:00:00.000Z';
const condition = (id: CloudConditionId): CloudCondition => ({ id, ...cloudConditions[id], since: at });
const status = (more: Partial<CloudStatus>): CloudStatus => ({
  state: 'offline',
  host: 'cloud.example.org',
  isHeldHere: true,
  connectedSince: null,
  claimedAt: at,
  lastHeardAt: null,
  lastError: null,
  nextAttemptAt: null,
  activeChannels: [],
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 1, dropped: 0, setAside: 0 },
  conditions: [],
  askedAt: null,
  ...more,
});
const seen = (more: Partial<CloudStatus>): string | null => cloudAttentionOf(status(more))?.id ?? null;

test('home calls for a look at the worst that is wrong with the cloud link', () => {
  assert.equal(seen({}), null);
  assert.equal(seen({ conditions: [condition('cloud_unreachable')] }), 'cloud_unreachable');
  const both = [condition('cloud_messages_set_aside'), condition('cloud_outbox_full')];
  assert.equal(seen({ conditions: both }), 'cloud_outbox_full');
});

test('whoever has no cloud, or never connected the station to it, is left in peace', () => {
  const conditions = [condition('cloud_certificate_untrusted')];
  assert.equal(seen({ claimedAt: null, state: 'unclaimed', conditions }), null);
  assert.equal(seen({ claimedAt: null, state: 'disabled', conditions }), null);
  const lost = [condition('cloud_key_lost')];
  assert.equal(seen({ claimedAt: null, state: 'unclaimed', conditions: lost }), 'cloud_key_lost');
});

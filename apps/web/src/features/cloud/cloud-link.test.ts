import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import { type CloudConditionId, cloudConditions } from '@station/protocol/cloud-conditions';
import type { LiveService } from '../../api/live.ts';
import { mayConnect } from './cloud-link.ts';
import { claimKey, cloudAttentionOf, followCloud } from './follow-cloud.ts';

test('a shown code is read again after every event of a station that is unclaimed, or was just claimed', () => {
  const queries = new QueryClient();
  let send: Parameters<LiveService['onMessage']>[0] = () => undefined;
  const onMessage: LiveService['onMessage'] = (listener) => {
    send = listener;
    return () => undefined;
  };
  followCloud({ onMessage } as LiveService, queries);
  const at = '2026-11-21T12:00:00.000Z';
  const outbox = { pending: 0, oldestAt: null, bytes: 0, maxBytes: 1, dropped: 0, deadLetters: 0 };
  const isForgottenAfter = (claimedAt: string | null): boolean => {
    queries.setQueryData(claimKey, 'the code of before');
    const status = { claimedAt, outbox, askedAt: null } as unknown as CloudStatus;
    send({ type: 'cloud_status', at, status });
    return queries.getQueryData(claimKey) === undefined;
  };
  assert.equal(isForgottenAfter(null), true);
  assert.equal(isForgottenAfter(null), true, 'it was made anew');
  assert.equal(isForgottenAfter(at), true, 'it has served');
  assert.equal(isForgottenAfter(at), false, 'nothing of it has changed');
});

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
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 1, dropped: 0, deadLetters: 0 },
  conditions: [],
  askedAt: null,
  ...more,
});
const seen = (more: Partial<CloudStatus>): string | null => cloudAttentionOf(status(more))?.id ?? null;

test('home names the most severe condition of the cloud link', () => {
  assert.equal(seen({}), null);
  assert.equal(seen({ conditions: [condition('cloud_unreachable')] }), 'cloud_unreachable');
  const both = [condition('cloud_dead_letters'), condition('cloud_outbox_full')];
  assert.equal(seen({ conditions: both }), 'cloud_outbox_full');
});

test('a station without a cloud, or never connected to it, shows nothing', () => {
  const conditions = [condition('cloud_certificate_untrusted')];
  assert.equal(seen({ claimedAt: null, state: 'unclaimed', conditions }), null);
  assert.equal(seen({ claimedAt: null, state: 'disabled', conditions }), null);
  const lost = [condition('cloud_key_lost')];
  assert.equal(seen({ claimedAt: null, state: 'unclaimed', conditions: lost }), 'cloud_key_lost');
});

test('the owner may, and who was it before the cloud named another; an admin may not', () => {
  assert.equal(mayConnect({ role: 'owner' }), true);
  assert.equal(mayConnect({ role: 'admin', wasOwner: true }), true);
  assert.equal(mayConnect({ role: 'admin' }), false);
  assert.equal(mayConnect({ role: 'member' }), false);
});

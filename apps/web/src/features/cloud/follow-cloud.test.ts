import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { CloudStatus } from '@station/protocol/cloud';
import type { LiveService } from '../../api/live.ts';
import { followCloud } from './follow-cloud.ts';
import { claimKey } from './keys.ts';

test('a code that is shown is read again whenever something is told of a station that nobody has claimed, or that was claimed now', () => {
  const queries = new QueryClient();
  let say: Parameters<LiveService['onMessage']>[0] = () => undefined;
  const onMessage: LiveService['onMessage'] = (listener) => {
    say = listener;
    return () => undefined;
  };
  followCloud({ onMessage } as LiveService, queries);
  const at = '2026-11-21T12:00:00.000Z';
  const outbox = { pending: 0, oldestAt: null, bytes: 0, maxBytes: 1, dropped: 0, setAside: 0 };
  const isForgottenAfter = (claimedAt: string | null): boolean => {
    queries.setQueryData(claimKey, 'the code of before');
    const status = { claimedAt, outbox, askedAt: null } as unknown as CloudStatus;
    say({ type: 'cloud_status', at, status });
    return queries.getQueryData(claimKey) === undefined;
  };
  assert.equal(isForgottenAfter(null), true);
  assert.equal(isForgottenAfter(null), true, 'it was made anew');
  assert.equal(isForgottenAfter(at), true, 'it has served');
  assert.equal(isForgottenAfter(at), false, 'nothing of it has changed');
});

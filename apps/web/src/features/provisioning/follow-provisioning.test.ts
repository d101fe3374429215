import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate, Provisioning, ProvisioningView } from '@station/protocol/provisioning';
import { withMessage, withRead } from './follow-provisioning.ts';

const at = '2026-11-22T10:00:00.000Z';
const candidate = (address: string, rssi: number): Candidate => ({
  address,
  name: 'SH_light_a1',
  rssi,
  service_uuids: [],
  service_data: {},
  protocol: 'station',
  externalId: 'a1',
  deviceType: 'light',
  defaultName: 'Light a1',
  deviceId: null,
  lastSeenAt: at,
});
const provisioning = (id: string, status: Provisioning['status'], changedAt: string): Provisioning => ({
  id,
  externalId: 'a1',
  deviceType: 'light',
  name: 'Light',
  zoneId: null,
  method: 'ble',
  status,
  error: null,
  startedBy: null,
  startedAt: at,
  changedAt,
  endsAt: null,
  deviceId: null,
});
const empty: ProvisioningView = {
  radio: { state: 'starting', reason: null },
  candidates: [],
  provisionings: [],
  wifi: null,
  broker: { host: 'station.local', port: 1883 },
};

test('candidates come, change and go by their address', () => {
  const found = withMessage(empty, { type: 'provisioning_candidate', at, candidate: candidate('1', -70) });
  const changed = withMessage(found, { type: 'provisioning_candidate', at, candidate: candidate('1', -50) });
  assert.deepEqual(
    changed.candidates.map(({ rssi }) => rssi),
    [-50],
  );
  assert.deepEqual(withMessage(changed, { type: 'provisioning_candidate_lost', at, address: '1' }).candidates, []);
  assert.equal(withMessage(changed, { type: 'provisioning_candidate_lost', at, address: '2' }), changed);
});

test('the radio and each step are shown as they are told; a step that comes late changes nothing', () => {
  const radio = { state: 'paused', reason: 'joining' } as const;
  assert.deepEqual(withMessage(empty, { type: 'provisioning_radio', at, radio }).radio, radio);
  const steps = [
    provisioning('p', 'queued', '2026-11-22T10:00:01.000Z'),
    provisioning('p', 'waiting', '2026-11-22T10:00:03.000Z'),
    provisioning('p', 'writing', '2026-11-22T10:00:02.000Z'),
  ];
  const view = steps.reduce(
    (before, step) => withMessage(before, { type: 'provisioning_progress', at, provisioning: step }),
    empty,
  );
  assert.deepEqual(
    view.provisionings.map(({ status }) => status),
    ['waiting'],
  );
});

test('an answer that was overtaken by a message does not take a step back', () => {
  const known = { ...empty, provisionings: [provisioning('p', 'succeeded', '2026-11-22T10:00:09.000Z')] };
  const read = { ...empty, provisionings: [provisioning('p', 'waiting', '2026-11-22T10:00:03.000Z')] };
  assert.equal(withRead(known, read).provisionings[0]?.status, 'succeeded');
  assert.equal(withRead(undefined, read), read);
});

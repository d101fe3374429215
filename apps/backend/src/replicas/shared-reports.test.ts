import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../core/device-events.ts';
import { inOrder, type StateTimes } from './shared-reports.ts';

const reported = (at: number, state: Record<string, unknown>, sentAt?: number): DeviceReport => ({
  kind: 'state',
  deviceId: 'd',
  at,
  state,
  ...(sentAt === undefined ? {} : { sentAt }),
});
const states = (reports: readonly DeviceReport[]): unknown[] =>
  reports.map((report) => (report.kind === 'state' ? report.state : report.kind));

const cases: { story: string; times: StateTimes; reports: DeviceReport[]; left: unknown[] }[] = [
  { story: 'the first report of a device', times: {}, reports: [reported(1, { a: 1 })], left: [{ a: 1 }] },
  { story: 'a newer one', times: { a: 5 }, reports: [reported(6, { a: 1 })], left: [{ a: 1 }] },
  { story: 'a report of the same millisecond', times: { a: 5 }, reports: [reported(5, { a: 1 })], left: [{ a: 1 }] },
  { story: 'an outdated report', times: { a: 5 }, reports: [reported(4, { a: 1 })], left: [] },
  {
    story: 'a partly outdated report',
    times: { a: 5, b: 3 },
    reports: [reported(4, { a: 1, b: 2, c: 3 })],
    left: [{ b: 2, c: 3 }],
  },
  {
    story: 'two in one batch, the later first',
    times: {},
    reports: [reported(9, { a: 'later' }), reported(8, { a: 'earlier', b: 1 })],
    left: [{ a: 'later' }, { b: 1 }],
  },
  {
    story: 'a report that waited at the broker while another replica received a newer one',
    times: { a: 50 },
    reports: [reported(90, { a: 'old' }, 40)],
    left: [],
  },
  {
    story: 'a report that waited at the broker, without a newer one',
    times: { a: 30 },
    reports: [reported(90, { a: 'new' }, 40)],
    left: [{ a: 'new' }],
  },
  {
    story: 'a report after the clock was set back',
    times: { a: 3_600_000 },
    reports: [reported(4, { a: 1 }), reported(5, { a: 2 })],
    left: [{ a: 1 }, { a: 2 }],
  },
  { story: 'an empty state', times: { a: 5 }, reports: [reported(4, {})], left: [{}] },
];
for (const { story, times, reports, left } of cases) {
  test(`in order: ${story}`, () => {
    assert.deepEqual(states(inOrder(reports, new Map([['d', { ...times }]]))), left);
  });
}

test('other reports, and reports of a removed device, are unchanged', () => {
  const event: DeviceReport = { kind: 'event', deviceId: 'd', at: 1, eventKind: 'device_event', data: {} };
  const elsewhere: DeviceReport = { kind: 'state', deviceId: 'gone', at: 1, state: { a: 1 } };
  assert.deepEqual(inOrder([event, elsewhere], new Map([['d', { a: 5 }]])), [event, elsewhere]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { commonFindings } from '@station/protocol/doctor-findings';
import { runChecks } from './doctor.ts';
import { exitCodeOf, renderReport } from './doctor-decide.ts';

const clock = { now: () => Date.parse('2026-01-02T03:04:05Z') };

test('a check that throws or takes too long is unknown, one that does not apply is left out', async () => {
  const order: string[] = [];
  const report = await runChecks({
    program: 'agent',
    version: '1.2.3',
    catalogue: commonFindings,
    clock,
    checks: [
      {
        id: 'disk_space',
        isBlocking: true,
        run: async () => {
          order.push('blocking');
          const values = { folder: '/data', free: '1 MB', size: '1 GB' };
          return { detail: '/data', findings: [{ code: 'disk_full', values }] };
        },
      },
      { id: 'clock', run: () => Promise.reject(new Error('no\u001b[2J\u009b\nhands')) },
      { id: 'wifi', run: async () => null },
      { id: 'names', timeoutMs: 1, run: (signal) => sleep(60_000, null, { signal }) },
      {
        id: 'files',
        run: async () => {
          order.push('files');
          return { detail: null, findings: [] };
        },
      },
    ],
  });
  assert.deepEqual(
    report.checks.map(({ id, status }) => [id, status]),
    [
      ['disk_space', 'fault'],
      ['clock', 'unknown'],
      ['names', 'unknown'],
      ['files', 'ok'],
    ],
  );
  assert.deepEqual(order, ['files', 'blocking']);
  assert.equal(report.status, 'fault');
  const text = renderReport(report);
  assert.match(text, /^Agent 1\.2\.3, checked 2026-01-02T03:04:05\.000Z\n/);
  assert.match(text, /^FAULT {4}Disk space: \/data\n {9}\/data has only 1 MB left of 1 GB\.\n {9}-> Free some space/m);
  assert.match(text, /This could not be checked: no \[2J {2}hands\./);
  assert.match(text, /\n1 fault, 2 unknown, 1 ok\n$/);
});

test('the exit code is that of the worst check', () => {
  assert.deepEqual(
    [exitCodeOf([]), exitCodeOf(['ok', 'unknown']), exitCodeOf(['warning', 'ok']), exitCodeOf(['warning', 'fault'])],
    [0, 0, 1, 2],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentFindings } from '@station/protocol/agent-findings';
import { backendFindings } from '@station/protocol/backend-findings';
import { consequences } from '@station/protocol/doctor-consequences';
import { commonFindings, doctorChecks } from '@station/protocol/doctor-findings';
import { runChecks } from './doctor.ts';
import { exitCodeOf, nameCauses, renderReport } from './doctor-decide.ts';

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

test('what follows from another finding is no fault of its own', async () => {
  const found = (code: string, values: Record<string, string> = {}) => ({ code, values });
  const outcome = (...findings: ReturnType<typeof found>[]) => ({ detail: null, findings });
  const silent = found('backend_silent', { url: 'http://localhost', reason: 'no' });
  const stopped = ['backend', 'proxy'].map((service) => found('service_not_running', { service, state: 'exited' }));
  const told = nameCauses([
    ['engine', outcome(found('engine_unreachable'))],
    ['images', outcome(found('check_failed'))],
    ['services', outcome(found('check_failed'))],
    ['backend', outcome(silent)],
  ]);
  assert.deepEqual(
    told.map(([, { findings }]) => findings.map(({ code, values }) => [code, values['cause'] ?? null])),
    [
      [['engine_unreachable', null]],
      [['follows', 'engine_unreachable']],
      [['check_failed', null]],
      [['follows', 'engine_unreachable']],
    ],
  );
  assert.deepEqual(nameCauses([['backend', outcome(silent)]]), [['backend', outcome(silent)]], 'nothing else is named');
  // A cause that follows from another one still leads there.
  const [, services, backend] = nameCauses([
    ['images', outcome(found('image_missing', { service: 'backend', version: '1.0.0' }))],
    ['services', outcome(...stopped)],
    ['backend', outcome(silent)],
  ]);
  const other = found('service_not_running', { service: 'proxy', state: 'exited' });
  assert.deepEqual(services?.[1].findings, [found('follows', { cause: 'image_missing' }), other], 'of that service');
  assert.deepEqual(backend?.[1].findings, [found('follows', { cause: 'service_not_running' })]);
});

test('each consequence is a finding of its check, and no cause follows from itself', () => {
  const causesOf = (code: string): string[] =>
    Object.entries(consequences).flatMap(([name, causes]) => (name.endsWith(`: ${code}`) ? [...causes] : []));
  const reach = (code: string, seen: readonly string[] = []): readonly string[] =>
    causesOf(code).flatMap((cause) => (seen.includes(cause) ? [cause] : [cause, ...reach(cause, [...seen, cause])]));
  for (const [name, causes] of Object.entries(consequences)) {
    const [check = '', code = ''] = name.split(': ');
    assert.ok(Object.hasOwn(doctorChecks, check), name);
    for (const one of [code, ...causes])
      assert.ok(Object.hasOwn(agentFindings, one) || Object.hasOwn(backendFindings, one), one);
    if (code !== 'check_failed') assert.ok(!reach(code).includes(code), `${name} is its own cause`);
  }
});

test('the exit code is that of the worst check', () => {
  assert.deepEqual(
    [exitCodeOf([]), exitCodeOf(['ok', 'unknown']), exitCodeOf(['warning', 'ok']), exitCodeOf(['warning', 'fault'])],
    [0, 0, 1, 2],
  );
});

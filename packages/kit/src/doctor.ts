import type { DoctorReport } from '@station/protocol/doctor';
import type { DoctorCheckId, FindingCatalogue } from '@station/protocol/doctor-findings';
import { type Clock, isoTime } from './clock.ts';
import { type CheckOutcome, describeCheck, nameCauses, worstOf } from './doctor-decide.ts';
import { describeError } from './station-error.ts';

/** A check of `doctor`. Null: it does not apply to this station. `signal` ends it after its time. */
export type Check<Code extends string> = {
  id: DoctorCheckId;
  run: (signal: AbortSignal) => Promise<CheckOutcome<Code> | null>;
  /** Default 10 s. */
  timeoutMs?: number;
  /** It keeps the process busy, so it runs after the others, whose times would end meanwhile. */
  isBlocking?: true;
};

const usualTimeoutMs = 10_000;

/**
 * Runs the checks at the same time, the blocking ones afterwards. A check that throws or takes too long is reported as unknown; it never ends the others.
 * @param options.checks in the order in which they are reported.
 */
export async function runChecks<Code extends string>(options: {
  program: DoctorReport['program'];
  version: string;
  checks: readonly Check<Code>[];
  catalogue: FindingCatalogue;
  clock: Pick<Clock, 'now'>;
}): Promise<DoctorReport> {
  const { program, version, catalogue, clock } = options;
  const at = isoTime(clock.now());
  const outcomes = new Map<Check<Code>, CheckOutcome<string> | null>();
  const run = async (check: Check<Code>): Promise<void> => void outcomes.set(check, await runOne(check));
  await Promise.all(options.checks.filter(({ isBlocking }) => !isBlocking).map(run));
  for (const check of options.checks.filter(({ isBlocking }) => isBlocking)) await run(check);
  const done = options.checks.flatMap((check) => {
    const outcome = outcomes.get(check) ?? null;
    return outcome === null ? [] : [[check.id, outcome] as const];
  });
  const checks = nameCauses(done).map(([id, outcome]) => describeCheck(id, outcome, catalogue));
  return { program, version, at, status: worstOf(checks.map(({ status }) => status)), checks };
}

async function runOne({ run, timeoutMs = usualTimeoutMs }: Check<string>): Promise<CheckOutcome<string> | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error('it took too long'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(signal), late]);
  } catch (error) {
    return { detail: null, findings: [{ code: 'check_failed', values: { reason: describeError(error) } }] };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

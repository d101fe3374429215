import { runCommand } from '@station/kit/command';
import { parseAs } from '@station/kit/json';
import { describeError } from '@station/kit/station-error';
import { DoctorReport } from '@station/protocol/doctor';

/** The container of the backend, and the `docker` program that reaches it. */
export type BackendContainer = { program: string; name: string; env: Readonly<Record<string, string>> };

const readTimeoutMs = 10_000;

/** The code that the backend generated; null: none. It keeps the code in this file until the first account exists. */
export async function readSetupCode(
  container: BackendContainer,
): Promise<{ code: string | null } | { failure: string }> {
  try {
    const result = await run(container, ['cat', '/data/setup-code'], readTimeoutMs);
    return { code: result.exitCode === 0 ? result.stdout.trim() || null : null };
  } catch (error) {
    return { failure: describeError(error) };
  }
}

/** The backend's own doctor. Older releases do not have it and would start a second backend. */
const backendDoctor =
  'ls /app/command-line-*.mjs >/dev/null 2>&1 || exit 64; exec node /app/station-backend.mjs doctor --json';
const doctorTimeoutMs = 5 * 60_000;

/**
 * The report of the backend from inside its container, or why there is none.
 * @param isEngineAway Docker did not answer just before: it is not waited for.
 */
export async function readBackendReport(
  container: BackendContainer,
  isEngineAway = false,
): Promise<{ report: DoctorReport } | { failure: string }> {
  try {
    const result = await run(container, ['sh', '-c', backendDoctor], isEngineAway ? readTimeoutMs : doctorTimeoutMs);
    if (result.exitCode === 64) return { failure: 'its release has no doctor' };
    const line = result.stdout.split('\n').find((one) => one.startsWith('{'));
    if (line === undefined) return { failure: result.stderr.trim().split('\n').at(-1) || 'its container does not run' };
    const report = parseAs(DoctorReport, line);
    return report === null ? { failure: 'what it says is no report of its doctor' } : { report };
  } catch (error) {
    return { failure: describeError(error) };
  }
}

const run = ({ program, name, env }: BackendContainer, args: readonly string[], timeoutMs: number) =>
  runCommand(program, ['exec', name, ...args], {
    env: { ...env },
    abort: AbortSignal.timeout(timeoutMs),
    keptBytes: 2 ** 20,
  });

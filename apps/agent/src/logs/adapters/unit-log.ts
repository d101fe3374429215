import { runCommand } from '@station/kit/command';

const mostLogLines = 200;

/** The last lines that a unit logged, oldest first; none without journald. */
export async function readUnitLog(
  unit: string,
  env: Readonly<Record<string, string>>,
  abort: AbortSignal,
): Promise<string[]> {
  try {
    const args = ['--unit', unit, '--output', 'cat', '--lines', String(mostLogLines), '--no-pager', '--quiet'];
    const { exitCode, stdout } = await runCommand('journalctl', args, {
      env: { ...env },
      abort,
      keptBytes: 256 * 1024,
    });
    // The output is cut at its beginning, perhaps in the middle of a line.
    return exitCode === 0 ? stdout.split('\n').filter((line) => line.startsWith('{')) : [];
  } catch {
    return [];
  }
}

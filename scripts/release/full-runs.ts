// Which commits were in a run of `.ci/full` without a failure.
import { runCommand } from '@station/kit/command';

/** What a release is made of. */
const product = ['apps', 'packages', 'deploy', 'scripts', 'package-lock.json'];

/** Commits of the rows of docs/full-runs.md in which nothing failed. */
export function readGoodRuns(page: string): string[] {
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows
    .filter(([, date = '', , , , passed, failed]) => /^\d{4}-/.test(date) && Number(passed) > 0 && failed === '0')
    .map(([, , commit = '']) => commit)
    .filter((commit) => /^[0-9a-f]{7,40}$/.test(commit));
}

/** Whether one of the commits has the same product as HEAD. Commits that the repository does not know do not count. */
export async function hasSameProduct(commits: readonly string[], repository: string): Promise<boolean> {
  for (const commit of commits) {
    const args = ['-C', repository, 'diff', '--quiet', commit, 'HEAD', '--', ...product];
    const { exitCode } = await runCommand('git', args, { env: { PATH: process.env['PATH'] ?? '' } });
    if (exitCode === 0) return true;
  }
  return false;
}

/**
 * `npm test` runs every unit test, `npm test -- FILE…` only those. Files share a process (loading the sources once costs less
 * than the tests), and there are two processes for each processor, since tests mostly wait. The last lines are totals.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { failuresOf, printTotals, runTests, type TestRun } from '../tests/rig/test-run.ts';

const everything = ['packages', 'apps', 'simulators', 'tests/faults', 'tests/rig'];
const memoryFolder = '/dev/shm';
const roomBytes = 1024 ** 3;

/** Databases wait for the disk at every commit: in memory they do not, and no unit test cuts the real power. */
async function temporaryFolder(): Promise<string> {
  const room = await statfs(memoryFolder).catch(() => null);
  const hasRoom = room !== null && room.bavail * room.bsize >= roomBytes;
  return mkdtemp(join(hasRoom ? memoryFolder : tmpdir(), 'station-test-'));
}

async function main(files: readonly string[]): Promise<number> {
  const started = performance.now();
  const patterns = files.length > 0 ? files : everything.map((folder) => `${folder}/**/*.test.ts`);
  const lanes = files.length > 0 ? 1 : Math.max(3, 2 * availableParallelism());
  const folder = await temporaryFolder();
  const runLane = async (lane: number): Promise<TestRun> => {
    const options = ['--test-isolation=none', '--test-timeout=180000', `--test-shard=${lane}/${lanes}`];
    const run = await runTests([...options, ...patterns], { TMPDIR: folder });
    const { pass, fail, cancelled } = run.totals;
    const isGood = fail + cancelled === 0;
    process.stdout.write(
      `part ${lane} of ${lanes}: ${pass} passed, ${fail + cancelled} failed (${run.seconds.toFixed(1)} s)\n`,
    );
    if (!isGood || files.length > 0) process.stdout.write(isGood ? run.output : failuresOf(run.output));
    return run;
  };
  try {
    return printTotals(await Promise.all(Array.from({ length: lanes }, (_, index) => runLane(index + 1))), started);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exitCode = await main(process.argv.slice(2));

/**
 * `npm test` runs every unit test, `npm test -- FILE…` only those. Files share a process (loading the sources once costs less
 * than the tests), and there are two processes for each processor, since tests mostly wait. The last lines are totals.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { failuresOf, isInterrupted, printTotals, runTests, type TestRun } from '../tests/rig/test-run.ts';

const everything = ['packages', 'apps', 'simulators', 'scripts', 'tests/faults', 'tests/rig'];
const memoryFolder = '/dev/shm';
const roomBytes = 1024 ** 3;
/** A process that does not end, such as after a failed test that left a server open, is ended then, and its output is shown. */
const limitMinutes = 8;

/** Most of what tests make is gone a moment later: collecting it less often takes a tenth less of the processor. */
const semiSpace = '--max-semi-space-size=32';

/** In memory, because databases wait for the disk at every commit. */
async function temporaryFolder(): Promise<string> {
  const room = await statfs(memoryFolder).catch(() => null);
  const hasRoom = room !== null && room.bavail * room.bsize >= roomBytes;
  return mkdtemp(join(hasRoom ? memoryFolder : tmpdir(), 'station-test-'));
}

async function main(files: readonly string[]): Promise<number> {
  const started = performance.now();
  const patterns = files.length > 0 ? files : everything.map((folder) => `${folder}/**/*.test.ts`);
  // More parts than processes, so that a process that is done early takes another part.
  const lanes = files.length > 0 ? 1 : Math.max(3, 2 * availableParallelism());
  const parts = files.length > 0 ? 1 : 3 * lanes;
  const folder = await temporaryFolder();
  const runPart = async (part: number): Promise<TestRun> => {
    const options = [semiSpace, '--test-isolation=none', '--test-timeout=180000', `--test-shard=${part}/${parts}`];
    const run = await runTests([...options, ...patterns], { TMPDIR: folder }, { limitMinutes });
    const { pass, fail, cancelled } = run.totals;
    const isGood = fail + cancelled === 0;
    process.stdout.write(
      `part ${part} of ${parts}: ${pass} passed, ${fail + cancelled} failed (${run.seconds.toFixed(1)} s)\n`,
    );
    if (!isGood || files.length > 0) process.stdout.write(isGood ? run.output : failuresOf(run.output));
    return run;
  };
  const queue = Array.from({ length: parts }, (_, index) => index + 1);
  const runs: TestRun[] = [];
  const runLane = async (): Promise<void> => {
    for (let part = queue.shift(); part !== undefined && !isInterrupted(); part = queue.shift()) {
      runs.push(await runPart(part));
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, runLane));
    return printTotals(runs, started);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exitCode = await main(process.argv.slice(2));

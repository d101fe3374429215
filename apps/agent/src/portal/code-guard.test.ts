import { events as catalogue, type AgentEvent } from '@station/protocol/events';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { type Disk, nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { pauseMs } from './code-decide.ts';
import { createCodeGuard, wrongCodesFile } from './code-guard.ts';
import { createStationCode, readKeptCode } from './station-code.ts';

const code = 'ABCDE-23456';
const fullDisk: Disk = { ...nodeDisk, write: () => Promise.reject(new Error('no space left')) };

let dataDir: string;
let nowMs: number;
let events: AgentEvent[];

async function prepare(): Promise<void> {
  dataDir = await mkdtemp(join(tmpdir(), 'station-portal-'));
  nowMs = 1000;
  events = [];
}
const clean = (): Promise<void> => rm(dataDir, { recursive: true });

function createParts(disk: Disk = nodeDisk) {
  const logger = createLogger({ catalogue, clock: systemClock, write: () => undefined, level: 'debug', secrets: [] });
  logger.subscribe((event) => void events.push(event));
  return { disk, dataDir, logger, clock: { ...systemClock, monotonic: () => nowMs } };
}
/** As after a start of the agent. */
const start = (disk?: Disk) => createCodeGuard({ ...createParts(disk), readCode: () => Promise.resolve(code) });

describe('the guard of the page', () => {
  beforeEach(prepare);
  afterEach(clean);

  it('takes the code as people type it', async () => {
    for (const typed of [code, 'abcde23456', ' ab-cd e2 34 56']) {
      assert.deepEqual(await start().check(typed), { kind: 'right' });
    }
    assert.deepEqual(events, []);
  });

  it('counts wrong codes across restarts, of forms that come together too, and logs none of them', async () => {
    const guard = start();
    await Promise.all([guard.check('WRONG-11111'), guard.check('WRONG-22222')]);
    assert.deepEqual(await readFile(join(dataDir, wrongCodesFile), 'utf8'), '{"wrongCodes":2}\n');
    const again = start();
    const left = [];
    for (let count = 0; count < 3; count += 1) left.push(await again.check('WRONG-33333'));
    assert.deepEqual(left.at(-1), { kind: 'wrong', left: 0, retryInMs: pauseMs });
    assert.equal((await again.check(code)).kind, 'closed');
    assert.equal((await start().check(code)).kind, 'closed', 'a restart gives no further try');
    assert.deepEqual(
      events.map((event) => event.event === 'portal_code_refused' && event.wrongCodes),
      [1, 2, 3, 4, 5],
    );
    assert.doesNotMatch(JSON.stringify(events), /WRONG|ABCDE/);
  });

  it('lets the right code in after the pause, and forgets the wrong ones', async () => {
    const guard = start();
    for (let count = 0; count < 5; count += 1) await guard.check('WRONG-11111');
    nowMs += pauseMs;
    assert.deepEqual(await guard.check(code), { kind: 'right' });
    assert.deepEqual(await readFile(join(dataDir, wrongCodesFile), 'utf8'), '{"wrongCodes":0}\n');
    assert.deepEqual(await start().check('WRONG-11111'), { kind: 'wrong', left: 4, retryInMs: 0 });
  });

  it('waits first when the count cannot be read', async () => {
    await writeFile(join(dataDir, wrongCodesFile), '{"wrongCodes":-3}');
    assert.equal((await start().check(code)).kind, 'closed');
    assert.equal(events[0]?.event, 'state_repaired');
    await rm(join(dataDir, wrongCodesFile));
    await mkdir(join(dataDir, wrongCodesFile));
    assert.equal((await start().check(code)).kind, 'closed');
  });

  it('counts on a full disk as well', async () => {
    const guard = start(fullDisk);
    for (let count = 0; count < 5; count += 1) await guard.check('WRONG-11111');
    assert.equal((await guard.check(code)).kind, 'closed');
  });
});

describe('the code of the station', () => {
  beforeEach(prepare);
  afterEach(clean);

  it('is the configured one, of which nothing is kept or logged', async () => {
    const parts = createParts();
    assert.equal(await createStationCode({ ...parts, configured: code })(), code);
    assert.equal(await readKeptCode(parts), null);
    assert.deepEqual(events, []);
  });

  it('is made once without a configured one, told in the log without the code, and kept for its owner only', async () => {
    const parts = { ...createParts(), configured: null };
    const made = await createStationCode(parts)();
    assert.match(made, /^[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$/);
    assert.equal(await createStationCode(parts)(), made);
    assert.equal(await readKeptCode(parts), made);
    assert.equal((await stat(join(dataDir, 'station-code'))).mode & 0o777, 0o600);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['portal_code_made'],
    );
    assert.ok(!JSON.stringify(events).includes(made));
  });

  it('is made again when the kept one is damaged', async () => {
    await writeFile(join(dataDir, 'station-code'), 'AB\n');
    const parts = { ...createParts(), configured: null };
    const made = await createStationCode(parts)();
    assert.equal(await readKeptCode(parts), made);
  });

  it('stays the same in one process on a full disk', async () => {
    const read = createStationCode({ ...createParts(fullDisk), configured: null });
    assert.equal(await read(), await read());
    assert.equal(events.length, 1);
  });
});

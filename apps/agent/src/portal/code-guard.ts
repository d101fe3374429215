import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { isSameCode } from '@station/kit/codes';
import type { Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import { Type } from 'typebox';
import { type CodeVerdict, freeCodes, type Guesses, guessesAtStart, judgeCode } from './code-decide.ts';

export const wrongCodesFile = 'portal-codes.json';

/** Checks the codes that are typed on the page. It outlives the page, whose hotspot comes and goes. */
export type CodeGuard = {
  /** The verdict is on disk when it resolves. Never rejects. */
  check(given: string): Promise<CodeVerdict>;
};

type Parts = {
  /** The code of the station. Never rejects. */
  readCode: () => Promise<string>;
  disk: Disk;
  dataDir: string;
  clock: Clock;
  logger: AgentLogger;
};

export function createCodeGuard(parts: Parts): CodeGuard {
  const { disk, dataDir, clock, logger } = parts;
  const schema = Type.Object({ wrongCodes: Type.Integer({ minimum: 0 }) });
  const file = createJsonFile({ disk, path: join(dataDir, wrongCodesFile), schema });
  const runner = createExclusiveRunner();
  let known: Guesses | null = null;

  /** A count that cannot be read may have been any. */
  const readWrong = async (): Promise<number> => {
    const reading = await file
      .read()
      .catch((error: unknown) => ({ kind: 'damaged', reason: describeError(error) }) as const);
    if (reading.kind === 'ok') return reading.value.wrongCodes;
    if (reading.kind === 'missing') return 0;
    logger.event('state_repaired', { file: wrongCodesFile, reason: reading.reason });
    return freeCodes;
  };
  const check = async (given: string): Promise<CodeVerdict> => {
    const before = (known ??= guessesAtStart(await readWrong(), clock.monotonic()));
    const isRight = isSameCode(given, await parts.readCode());
    const { verdict, guesses } = judgeCode(before, { nowMs: clock.monotonic(), isRight });
    known = guesses;
    // On a full disk the count lasts as long as this process.
    if (guesses.wrong !== before.wrong) await file.write({ wrongCodes: guesses.wrong }).catch(() => undefined);
    if (verdict.kind === 'wrong') {
      logger.event('portal_code_refused', { wrongCodes: guesses.wrong, retryInMs: verdict.retryInMs });
    }
    return verdict;
  };
  return { check: (given) => runner.run(() => check(given)) };
}

import { asProblem, type Problem } from '../../api/request.ts';

/** So many requests run beside each other: the station stays free for others. */
const atOnce = 4;

/** What failed, with the problem of the last one; null: nothing. */
export type Failed = { ids: readonly string[]; problem: Problem };

/** Does one request for each id. A failed one does not stop the others. */
export async function callForEach(
  ids: readonly string[],
  call: (id: string) => Promise<unknown>,
  onDone: (count: number) => void,
): Promise<Failed | null> {
  const waiting = [...ids];
  const failed: string[] = [];
  let problem: Problem | null = null;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await call(id);
      } catch (error) {
        failed.push(id);
        problem = asProblem(error);
      }
      done += 1;
      onDone(done);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return problem && { ids: failed, problem };
}

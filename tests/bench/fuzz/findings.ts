/** What went wrong, each kind of fault with the first few inputs that showed it. */
export type Findings = {
  /** Counts an input as dealt with. */
  done(): void;
  /** @param what the same for inputs that show the same fault. */
  fault(what: string, input: string): void;
  inputs(): number;
  faults(): { what: string; times: number; inputs: string[] }[];
};

const examplesOfEach = 3;
const exampleLength = 600;

export function createFindings(): Findings {
  let inputs = 0;
  const found = new Map<string, { times: number; inputs: string[] }>();
  return {
    done: () => void (inputs += 1),
    fault: (what, input) => {
      const entry = found.get(what) ?? { times: 0, inputs: [] };
      found.set(what, entry);
      entry.times += 1;
      if (entry.inputs.length < examplesOfEach) entry.inputs.push(input.slice(0, exampleLength));
    },
    inputs: () => inputs,
    faults: () => [...found].map(([what, entry]) => ({ what, ...entry })),
  };
}

/** Runs `count` trials, `width` at a time, each with its number; which number comes next does not depend on how long another takes. */
export async function runTrials(
  count: number,
  width: number,
  trial: (index: number, lane: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (_: unknown, number: number): Promise<void> => {
    for (let index = next++; index < count; index = next++) await trial(index, number);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

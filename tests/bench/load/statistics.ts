export const median = (numbers: readonly number[]): number => percentile(numbers, 50);

/** The smallest value that is not below `percent` percent of the numbers; NaN without numbers. */
export function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

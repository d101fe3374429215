export const median = (numbers: readonly number[]): number => percentile(numbers, 50);

/** The least value that so many percent of the numbers do not exceed; NaN of none. */
export function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

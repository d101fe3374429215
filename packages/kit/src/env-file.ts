import { parseEnv } from 'node:util';

export type EnvFile = { values: Record<string, string>; warnings: string[] };

const assignment = /^(\s*(?:export\s+)?)([A-Za-z_]\w*)(?=\s*=)/;
/** A name that no environment file has: it stands in for another to see whether a line assigns. */
const marker = 'STATION_AGENT_LINE_PROBE';

/**
 * Reads an environment file the way Node does (`util.parseEnv`): quotes, comments, values over several lines. Of a variable
 * that is set more than once the last value counts, and a warning names it and its lines. No warning repeats a value.
 */
export function parseEnvFile(text: string): EnvFile {
  // parseEnv lets a value of blanks swallow the line after it, and glues lines that end in a bare carriage return.
  const lines = text
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.trimEnd());
  const values = Object.fromEntries(
    Object.entries(parseEnv(lines.join('\n'))).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return { values, warnings: findDuplicates(lines) };
}

function findDuplicates(lines: readonly string[]): string[] {
  const candidates = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const name = assignment.exec(line)?.[2];
    if (name !== undefined) candidates.set(name, [...(candidates.get(name) ?? []), index]);
  }
  const warnings: string[] = [];
  for (const [name, indexes] of candidates) {
    if (indexes.length < 2) continue;
    // A line inside a quoted value looks like an assignment and is none: parseEnv itself tells them apart.
    const assigning = indexes.filter((index) => assigns(lines, index));
    if (assigning.length < 2) continue;
    const numbers = assigning.map((index) => index + 1).join(', ');
    warnings.push(`${name} is set more than once (lines ${numbers}); the last one counts`);
  }
  return warnings;
}

function assigns(lines: readonly string[], index: number): boolean {
  const renamed = lines.with(index, (lines[index] ?? '').replace(assignment, `$1${marker}`));
  return marker in parseEnv(renamed.join('\n'));
}

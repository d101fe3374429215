import { parseEnv } from 'node:util';

export type EnvFile = { values: Record<string, string>; warnings: string[] };

const assignment = /^(\s*(?:export\s+)?)([A-Za-z_]\w*)(?=\s*=)/;
/** Replaces a variable's name to find out whether a line is an assignment. No environment file contains it. */
const marker = 'STATION_AGENT_LINE_PROBE';

/**
 * Reads an environment file as Node does (`util.parseEnv`): quotes, comments, values over several lines.
 * When a variable is set more than once, the last value counts and a warning names the lines, never a value.
 */
export function parseEnvFile(text: string): EnvFile {
  // parseEnv joins a value of blanks with the next line, and lines that end in a bare carriage return.
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
    // A line inside a quoted value may look like an assignment, so parseEnv decides.
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

/**
 * `npm run bench -- NAME [--flags]` runs `tests/bench/NAME.ts`; without a name it lists all benches.
 *
 * A bench prints one JSON object `{ bench, value, unit, ratio, goal, ok }` as its last line. It may have more keys, and
 * `ratio` may be null. The exit code is 1 when `ok` is not true, when the line is missing or when the bench fails.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sweepWorkspaces } from '../rig/workspace.ts';

const folder = import.meta.dirname;

function findBenches(): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return files.map((name) => name.slice(0, -'.ts'.length)).filter((name) => name !== 'run');
}

async function main([name, ...flags]: readonly string[]): Promise<number> {
  const all = findBenches();
  if (name === undefined || !all.includes(name)) {
    const list = `Benches: ${all.join(', ')}\n`;
    if (name === undefined || name === '--list') process.stdout.write(list);
    else process.stderr.write(`There is no bench named ${name}. ${list}`);
    return name === undefined || name === '--list' ? 0 : 1;
  }
  const child = spawn(process.execPath, [join(folder, `${name}.ts`), ...flags], {
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, forward);
  let tail = '';
  child.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk);
    tail = (tail + chunk.toString('utf8')).slice(-65536);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  await sweepWorkspaces();
  const fault = code === 0 || code === 1 ? faultOf(name, tail) : `ended with exit code ${code}`;
  if (fault !== null) process.stderr.write(`bench ${name}: ${fault}\n`);
  return fault === null && code === 0 ? 0 : 1;
}

/** Why the last line is not a passing result; null when it is. */
function faultOf(name: string, output: string): string | null {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  let result: Record<string, unknown>;
  try {
    result = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return 'its last line is not JSON';
  }
  const missing = ['bench', 'value', 'unit', 'ratio', 'goal', 'ok'].filter((key) => !Object.hasOwn(result, key));
  if (missing.length > 0) return `its result lacks ${missing.join(', ')}`;
  if (result['bench'] !== name) return `its result names another bench`;
  return result['ok'] === true ? null : 'missed its goal';
}

process.exitCode = await main(process.argv.slice(2));

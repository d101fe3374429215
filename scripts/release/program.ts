import { runCommand } from '@station/kit/command';

type Options = { cwd?: string; env?: Record<string, string>; input?: string; keptBytes?: number };

/** Runs a program with this one's environment. @returns its output. @throws when it fails, with the end of its errors. */
export async function run(program: string, args: readonly string[], options: Options = {}): Promise<string> {
  const env = { ...(process.env as Record<string, string>), LC_ALL: 'C.UTF-8', TZ: 'UTC', ...options.env };
  const result = await runCommand(program, args, { keptBytes: 64 * 1024 * 1024, ...options, env });
  if (result.exitCode === 0) return result.stdout;
  const why = (result.stderr || result.stdout).trim().split('\n').slice(-8).join('\n');
  throw new Error(`${program} ${args[0] ?? ''} failed (${result.exitCode ?? result.signal}): ${why}`);
}

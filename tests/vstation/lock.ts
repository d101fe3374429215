import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemEnv } from '../rig/program.ts';

/**
 * Waits for a lock of the whole machine (flock(2) on `path`, which is created) and holds it until disposed. It is also free when
 * this process dies: its holder ends at the end of its input.
 */
export async function takeLock(path: string): Promise<AsyncDisposable> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo held; exec cat'], {
    env: systemEnv,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`flock ${path} ended with ${String(code)}`))),
  ]);
  return {
    [Symbol.asyncDispose]: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}

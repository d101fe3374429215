import { join } from 'node:path';
import { run, systemEnv, tryRun, waitFor } from '../rig/program.ts';
import type { Workspace } from '../rig/workspace.ts';
import type { Machine } from './machine.ts';

/** A terminal of 100 × 50 characters with a shell in the machine (tmux on the host). */
export type Terminal = AsyncDisposable & {
  /** Types a text and the return key. */
  type(text: string): Promise<void>;
  /** Waits until the screen shows it. @returns the screen. @throws with the screen when it does not come (30 s). */
  see(pattern: RegExp, timeoutMs?: number): Promise<string>;
};

let count = 0;

export async function openTerminal(workspace: Workspace, machine: Machine): Promise<Terminal> {
  const socket = join(await workspace.subfolder('terminals'), `${(count += 1)}`);
  const tmux = ['-S', socket, '-f', '/dev/null'];
  const shell = ['env', '-i', `PATH=${systemEnv['PATH']}`, 'HOME=/root', 'LC_ALL=C.UTF-8', 'TERM=screen', 'PS1=# '];
  const command = ['nsenter', '--target', `${machine.leader}`, '--all', '--', ...shell, 'bash', '--norc', '-i'];
  await run('tmux', [...tmux, 'new-session', '-d', '-x', '100', '-y', '50', ...command], { env: { TERM: 'xterm' } });
  const screen = (): Promise<string> => run('tmux', [...tmux, 'capture-pane', '-p']);
  const terminal: Terminal = {
    type: async (text) => {
      await run('tmux', [...tmux, 'send-keys', '-l', text]);
      await run('tmux', [...tmux, 'send-keys', 'Enter']);
    },
    see: async (pattern, timeoutMs) => {
      let last = '';
      const shown = async (): Promise<boolean> => pattern.test((last = await screen()));
      await waitFor(String(pattern), shown, timeoutMs).catch((error: unknown) => {
        throw new Error(`the terminal does not show ${pattern}:\n${last}`, { cause: error });
      });
      return last;
    },
    [Symbol.asyncDispose]: async () => void (await tryRun('tmux', [...tmux, 'kill-server'])),
  };
  await terminal.see(/# $|#$/m);
  return workspace.own(terminal);
}

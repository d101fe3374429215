import type { HelperCommand, HelperEvent } from '@station/protocol/ble-frames';
import type { HelperListener, HelperProcess } from '../src/provisioning/adapters/ble-helper-process.ts';

/** A helper without a process, for tests that play thousands of lives of it. `remote-helper.ts` is one with a process. */
export type PlayedHelper = {
  start(listener: HelperListener): HelperProcess;
  starts(): number;
  isRunning(): boolean;
  /** Whether the running one said `ready`. */
  isReady(): boolean;
  /** Whether the running one was told to scan. */
  isTold(): boolean;
  /** Commands of the running one. */
  commands(): readonly HelperCommand[];
  send(event: HelperEvent): void;
  sendText(line: string): void;
  note(line: string): void;
  die(): void;
};

export function playedHelper(
  onCommand: (command: HelperCommand, helper: PlayedHelper) => void = () => undefined,
): PlayedHelper {
  type Life = { listener: HelperListener; commands: HelperCommand[]; isReady: boolean; die: (how: string) => void };
  let life: Life | null = null;
  let starts = 0;
  const helper: PlayedHelper = {
    start: (listener) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const own: Life = {
        listener,
        commands: [],
        isReady: false,
        die: (how) => {
          if (life === own) life = null;
          resolve(how);
        },
      };
      life = own;
      starts += 1;
      return {
        send: (line) => {
          const command = JSON.parse(line) as HelperCommand;
          own.commands.push(command);
          onCommand(command, helper);
          return true;
        },
        end: () => own.die('exit code 0'),
        kill: () => own.die('signal SIGKILL'),
        ended: promise,
      };
    },
    starts: () => starts,
    isRunning: () => life !== null,
    isReady: () => life?.isReady ?? false,
    isTold: () => life?.commands.findLast(({ event }) => event !== 'connect_and_write')?.event === 'start_scan',
    commands: () => life?.commands ?? [],
    send: (event) => {
      if (life !== null && event.event === 'ready') life.isReady = true;
      helper.sendText(JSON.stringify(event));
    },
    sendText: (line) => life?.listener.onLine(line),
    note: (line) => life?.listener.onNote(line),
    die: () => life?.die('signal SIGSEGV'),
  };
  return helper;
}

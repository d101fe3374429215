import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { startDaemon, systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { timeoutMs } from './browser.ts';

/**
 * A station as `npm start` boots it, with everything real but the container engine. No firmware is offered: its lamps would restart in the
 * middle of a story, and a command that is given in that half second does not reach them.
 */
export type RunningStation = AsyncDisposable & {
  url: string;
  setupCode: string;
  /** The new devices and the radio; see `simulators/radio/radio-control.ts`. */
  radioUrl: string;
  /** A button of their page: a path after `radio/`. */
  pressRadio(path: string): Promise<void>;
  /** Publishes the next release; resolves to its version. */
  offer(behaviour: 'good' | 'crashes'): Promise<string>;
  /** Unplugged, the release server does not answer. */
  setPlugged(plugged: boolean): Promise<void>;
  /**
   * The whole station stands still meanwhile. The page is connected before, or it would show what the browser kept and say something else, and
   * again after it.
   */
  whileFrozen(page: Page, work: () => Promise<void>): Promise<void>;
};

const main = join(import.meta.dirname, '../../../simulators/station/main.ts');

/** @param env additional variables of `npm start`. */
export async function startRunningStation(env: Record<string, string> = {}): Promise<RunningStation> {
  const workspace = await createWorkspace();
  try {
    const logFile = join(workspace.folder, 'station.log');
    const daemon = workspace.own(
      await startDaemon(process.execPath, [main], {
        logFile,
        env: {
          PATH: `${dirname(process.execPath)}:${systemEnv['PATH']}`,
          STATION_STATE_DIR: await workspace.subfolder('state'),
          PORT: '0',
          RELEASE_PORT: '0',
          OFFER_FIRMWARE: 'false',
          FORWARD_WIFI: 'false',
          ...env,
        },
      }),
    );
    const find = async (pattern: RegExp): Promise<string | null> => {
      if (!daemon.running()) throw new Error(`the station ended:\n${await daemon.logTail()}`);
      return pattern.exec(await readFile(logFile, 'utf8'))?.[1] ?? null;
    };
    await waitFor('the station to be up', () => find(/(Ctrl-C)/), 180_000);
    const read = (pattern: RegExp): Promise<string> => waitFor(String(pattern), () => find(pattern));
    const releases = await read(/Offer releases\s+(\S+)/);
    const post = async (path: string): Promise<unknown> => {
      const response = await fetch(new URL(path, releases), { method: 'POST' });
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      return response.json();
    };
    return {
      url: (await read(/Open\s+(\S+)/)).replace(/\/$/, ''),
      setupCode: await read(/Set-up code\s+(\S+)/),
      radioUrl: await read(/New devices\s+(\S+)/),
      pressRadio: async (path) => void (await post(`radio/${path}`)),
      offer: async (behaviour) => ((await post(`offers/${behaviour}`)) as { version: string }).version,
      setPlugged: async (plugged) => void (await post(plugged ? 'plug-in' : 'unplug')),
      whileFrozen: async (page, work) => {
        const isLive = (): Promise<void> => page.getByText('Live', { exact: true }).waitFor({ timeout: timeoutMs });
        await isLive();
        daemon.kill('SIGSTOP');
        try {
          await work();
        } finally {
          daemon.kill('SIGCONT');
        }
        await isLive();
      },
      [Symbol.asyncDispose]: async () => {
        daemon.kill('SIGCONT');
        await workspace[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

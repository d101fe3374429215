import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { backendProgram, buildForTests } from '../../rig/build.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';

export type Supervised = AsyncDisposable & {
  dataDir: string;
  url: string;
  /** Number of starts. */
  starts(): number;
  /** Exit codes so far; null: killed. */
  exits(): (number | null)[];
  kill(): void;
  log(): Promise<string>;
  get(path: string, token: string): Promise<unknown>;
  post(path: string, body: unknown): Promise<unknown>;
};

/** The backend as a process that is restarted whenever it ends, as by a process manager. */
export async function superviseBackend(
  workspace: Workspace,
  { devices, ...given }: (Record<string, string> & { devices: object[] }) | { devices: object[] },
): Promise<Supervised> {
  await buildForTests('backend');
  const port = await findFreePort();
  const dataDir = await workspace.subfolder('data');
  const logFile = join(workspace.folder, 'backend.log');
  const devicesFile = join(workspace.folder, 'devices.json');
  await writeFile(devicesFile, JSON.stringify({ devices }));
  const own = { PORT: String(port), MQTT_PORT: '0', DATA_DIR: dataDir, DEVICES_FILE: devicesFile, BLE_HELPER: 'off' };
  const env = { ...systemEnv, ...own, ...(given as Record<string, string>) };
  const output = createWriteStream(logFile, { flags: 'a' });
  const exits: (number | null)[] = [];
  const state = { starts: 0, isOver: false, child: null as ChildProcess | null };
  const supervise = async (): Promise<void> => {
    while (!state.isOver) {
      state.starts += 1;
      const child = spawn(process.execPath, [backendProgram], { env, stdio: ['ignore', 'pipe', 'pipe'] });
      state.child = child;
      child.stdout.pipe(output, { end: false });
      child.stderr.pipe(output, { end: false });
      const [code] = (await once(child, 'close')) as [number | null];
      exits.push(code);
    }
  };
  const supervising = supervise();
  const request = async (path: string, init: RequestInit): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const supervised: Supervised = {
    dataDir,
    url: `http://127.0.0.1:${port}`,
    starts: () => state.starts,
    exits: () => exits,
    kill: () => void state.child?.kill('SIGKILL'),
    log: () => readFile(logFile, 'utf8'),
    get: (path, token) => request(path, { headers: { authorization: `Bearer ${token}` } }),
    post: (path, body) =>
      request(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    [Symbol.asyncDispose]: async () => {
      state.isOver = true;
      state.child?.kill('SIGKILL');
      await supervising;
      output.end();
    },
  };
  await waitFor('the backend to answer', async () => (await fetch(`http://127.0.0.1:${port}/api/health`)).status > 0);
  return supervised;
}

import { chmod, chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { findFreePort } from '@station/kit/free-port';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

export type Postgres = AsyncDisposable & {
  /** `postgres://station@127.0.0.1:<port>/postgres`; without a password. */
  url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
};

const programs = '/usr/lib/postgresql';

/** Starts a PostgreSQL server with its own data on a free loopback port, as the user `postgres`, because it refuses root. */
export async function createPostgres(workspace: Workspace): Promise<Postgres> {
  await needPackages(['postgresql']);
  const [release] = (await readdir(programs)).sort((a, b) => Number(b) - Number(a));
  const bin = join(programs, release ?? '', 'bin');
  const folder = await workspace.subfolder('postgres');
  const [uid, gid] = (await run('id', ['-u', 'postgres'])).concat(' ', await run('id', ['-g', 'postgres'])).split(' ');
  // Only root may enter the workspace; the server must reach its folder in it.
  await chmod(workspace.folder, 0o711);
  await chown(folder, Number(uid), Number(gid));
  const data = join(folder, 'data');
  const asPostgres = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'];
  const initialise = [
    join(bin, 'initdb'),
    '-D',
    data,
    '-U',
    'station',
    '--auth',
    'trust',
    '-E',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ];
  await run('setpriv', [...asPostgres, ...initialise], { cwd: folder });
  const port = await findFreePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
    // Nobody cuts the power of this machine; what a killed server had written is with the kernel.
    'fsync=off',
  ];
  const serve = [join(bin, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  let daemon: Daemon | undefined;
  const postgres: Postgres = {
    url: `postgres://station@127.0.0.1:${port}/postgres`,
    stop: async () => {
      // SIGINT is its "fast shutdown": open connections are ended, nothing is lost.
      daemon?.kill('SIGINT');
      await daemon?.ended;
    },
    start: async () => {
      const logFile = join(folder, 'postgres.log');
      const started = await startDaemon('setpriv', [...asPostgres, ...serve], { logFile, cwd: folder });
      daemon = started;
      await waitFor('PostgreSQL to answer', async () => {
        if (!started.running()) throw new Error(`postgres ended: ${await started.logTail()}`);
        return run(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]);
      });
    },
    [Symbol.asyncDispose]: async () => {
      if (daemon?.running()) await postgres.stop();
    },
  };
  workspace.own(postgres);
  await postgres.start();
  return postgres;
}

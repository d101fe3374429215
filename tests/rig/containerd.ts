import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { trixieDocker } from './debian.ts';
import type { EngineOptions } from './docker-engine.ts';
import { run, startDaemon, systemEnv, tryRun, waitFor } from './program.ts';
import type { Workspace } from './workspace.ts';

export type Containerd = AsyncDisposable & {
  /** Where the images are. */
  root: string;
  /** For a Docker that keeps its images in it. */
  engine: EngineOptions;
};

/** containerd of Debian 13 with its folder on a disk of its own, as on a fresh Docker whose `data-root` was moved to another disk. */
export async function startContainerd(
  workspace: Workspace,
  { diskMegabytes }: { diskMegabytes: number },
): Promise<Containerd> {
  const programs = await trixieDocker();
  const folder = await workspace.subfolder('containerd');
  const root = join(folder, 'root');
  await mkdir(root);
  await run('truncate', ['--size', `${diskMegabytes}M`, join(folder, 'disk.ext4')]);
  await run('mkfs.ext4', ['-q', '-m', '0', join(folder, 'disk.ext4')]);
  await run('mount', ['-o', 'loop', join(folder, 'disk.ext4'), root]);
  const socket = join(folder, 'containerd.sock');
  const config = join(folder, 'config.toml');
  const disabled = 'disabled_plugins = ["io.containerd.grpc.v1.cri"]';
  await writeFile(
    config,
    `version = 2\nroot = "${root}"\nstate = "${join(folder, 'state')}"\n${disabled}\n[grpc]\naddress = "${socket}"\n`,
  );
  await writeFile(join(folder, 'daemon.json'), JSON.stringify({ features: { 'containerd-snapshotter': true } }));
  const env = { ...systemEnv, PATH: `${programs}:${systemEnv['PATH']}` };
  const daemon = await startDaemon('env', ['containerd', '-c', config], { logFile: join(folder, 'log'), env });
  await waitFor('containerd', async () => (await tryRun('test', ['-S', socket])).exitCode === 0);
  return {
    root,
    engine: { programs, daemonArgs: ['--containerd', socket, '--config-file', join(folder, 'daemon.json')] },
    [Symbol.asyncDispose]: async () => {
      await daemon.stop();
      await run('umount', ['--lazy', root]);
    },
  };
}

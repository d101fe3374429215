import { appendFile, chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from './debian.ts';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import { createSmallDisk, type SmallDisk } from './small-disk.ts';
import type { Workspace } from './workspace.ts';

/** Apache with mod_dav, as on a NAS: WebDAV with a login, on a small disk. */
export type Apache = AsyncDisposable & {
  url: string;
  /** Where its files are. */
  files: string;
  disk: SmallDisk;
  stop(): Promise<void>;
};

const modules = '/usr/lib/apache2/modules';
const loaded = ['mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_basic', 'auth_digest'];
const realm = 'files';

export async function createApache(
  workspace: Workspace,
  options: { username: string; password: string; kind: 'Basic' | 'Digest' },
): Promise<Apache> {
  await needPackages(['apache2-bin', 'apache2-utils']);
  const { username, password, kind } = options;
  const folder = await workspace.subfolder('apache');
  const files = join(folder, 'files');
  const locks = join(folder, 'locks');
  const login = join(folder, 'login');
  const disk = await createSmallDisk({ image: join(folder, 'disk.ext4'), folder: files, megabytes: 32 });
  await rm(join(files, 'lost+found'), { recursive: true });
  await mkdir(locks);
  if (kind === 'Basic') await run('htpasswd', ['-ci', login, username], { input: `${password}\n` });
  else await appendFile(login, `${username}:${realm}:${await digestOf(`${username}:${realm}:${password}`)}\n`);
  const port = await findFreePort();
  const config = join(folder, 'apache.conf');
  await writeFile(config, settings({ folder, files, locks, login, port, kind }));
  // It runs as this user and must reach its folders.
  await chmod(workspace.folder, 0o711);
  await run('chown', ['-R', 'www-data:www-data', files, locks, login]);
  const daemon: Daemon = workspace.own(
    await startDaemon('apache2', ['-f', config, '-D', 'FOREGROUND'], { logFile: join(folder, 'apache.log') }),
  );
  const url = `http://127.0.0.1:${port}/`;
  await waitFor('Apache to answer', async () => {
    if (!daemon.running()) throw new Error(`apache2 ended: ${await daemon.logTail()}`);
    return (await fetch(url)).status === 401;
  });
  return { url, files, disk, stop: () => daemon.stop(), [Symbol.asyncDispose]: () => daemon.stop() };
}

async function digestOf(text: string): Promise<string> {
  return (await run('md5sum', [], { input: text })).slice(0, 32);
}

type Places = { folder: string; files: string; locks: string; login: string; port: number; kind: 'Basic' | 'Digest' };

const settings = ({ folder, files, locks, login, port, kind }: Places): string => `
ServerRoot ${folder}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
User www-data
Group www-data
${[...loaded, 'dav', 'dav_fs'].map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
DocumentRoot ${files}
DavLockDB ${locks}/locks
<Directory ${files}>
  Dav On
  AuthType ${kind}
  AuthName ${realm}
  ${kind === 'Basic' ? 'AuthBasicProvider' : 'AuthDigestProvider'} file
  AuthUserFile ${login}
  Require valid-user
</Directory>
`;

import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { findFreePort } from '@station/kit/free-port';
import { makeCertificate } from '@station/simulators/notifications/receivers';
import { cacheFolder, downloadPackages, tell } from './debian.ts';
import { run, startDaemon, waitFor } from './program.ts';
import type { Workspace } from './workspace.ts';

/** A mail server as providers run it, with one account; it takes mail only after a log-in, and a log-in only over TLS. */
export type EximServer = AsyncDisposable & {
  port: { starttls: number; tls: number };
  /** Of the server, for `localhost`; PEM. */
  certificate: string;
  /** All mails that it took, as it stored them. */
  mails(): Promise<string>;
};

export const login = { username: 'anna', password: 'Пароль "für" alle: 1' };

/** Domain whose mail it never takes. */
export const refusedDomain = 'refused.example';

/** What Debian's Exim is built to find on its machine. */
const account = 'Debian-exim';

/**
 * Exim of Debian. Its package would become the mail server of the machine, so it is unpacked beside it. Needs root, for files of accounts of its own.
 * @param ways how it takes a password, in its order.
 */
export async function startExim(
  workspace: Workspace,
  { ways = ['PLAIN', 'LOGIN'] }: { ways?: readonly (keyof typeof authenticators)[] } = {},
): Promise<EximServer> {
  const port = { starttls: await findFreePort(), tls: await findFreePort() };
  const folder = await workspace.subfolder(`exim-${port.tls}`);
  // An account without rights may not reach the cache.
  const root = join(folder, 'root');
  await cp(await eximRoot(), root, { recursive: true, verbatimSymlinks: true });
  const program = join(root, 'usr/sbin/exim4');
  const { key, cert } = await makeCertificate();
  await writeFile(join(folder, 'key.pem'), key);
  await writeFile(join(folder, 'certificate.pem'), cert);
  const nobody = { passwd: '65534:65534::/nonexistent:/usr/sbin/nologin', group: '65534:' };
  for (const [name, entry] of Object.entries(nobody))
    await writeFile(join(folder, name), `${await readFile(`/etc/${name}`, 'utf8')}${account}:x:${entry}\n`);
  await run('chown', ['-R', 'nobody:nogroup', folder]);
  await chmod(workspace.folder, 0o711);
  await writeFile(join(folder, 'exim.conf'), settings(program, folder, port, ways));
  const libraries = (await readdir(join(root, 'usr/lib'))).map((name) => join(root, 'usr/lib', name)).join(':');
  const mounts = Object.keys(nobody).map((name) => `mount --bind ${folder}/${name} /etc/${name}`);
  const command = [...mounts, `exec ${program} -C ${folder}/exim.conf -bdf`].join(' && ');
  const daemon = workspace.own(
    await startDaemon('unshare', ['--mount', 'sh', '-c', command], {
      logFile: join(folder, 'server.log'),
      cwd: folder,
      env: { LD_LIBRARY_PATH: libraries },
    }),
  );
  await waitFor('exim to listen', async () => {
    if (!daemon.running()) throw new Error(`exim ended: ${await daemon.logTail()}`);
    const socket = connect(port.starttls, '127.0.0.1');
    await once(socket, 'data');
    socket.destroy();
    return true;
  });
  return {
    port,
    certificate: cert,
    mails: () => readFile(join(folder, 'mails'), 'utf8').catch(() => ''),
    [Symbol.asyncDispose]: () => daemon.stop(),
  };
}

/** How it takes a password: `$auth…` are what a client gave. */
const authenticators = {
  PLAIN: ['server_prompts = :', 'server_condition = ${if and{{eq{$auth2}{NAME}}{eq{$auth3}{PASSWORD}}}}'],
  LOGIN: [
    'server_prompts = <; Username: ; Password:',
    'server_condition = ${if and{{eq{$auth1}{NAME}}{eq{$auth2}{PASSWORD}}}}',
  ],
} as const;

function settings(
  program: string,
  folder: string,
  port: EximServer['port'],
  ways: readonly (keyof typeof authenticators)[],
): string {
  const known = (line: string): string => line.replace('NAME', login.username).replace('PASSWORD', login.password);
  const lines = [
    'primary_hostname = localhost',
    `spool_directory = ${folder}/spool`,
    `log_file_path = ${folder}/%slog`,
    `pid_file_path = ${folder}/pid`,
    // It starts itself again for each mail.
    `exim_path = ${program}`,
    'keep_environment = LD_LIBRARY_PATH',
    'exim_user = nobody',
    'exim_group = nogroup',
    'deliver_drop_privilege',
    'local_interfaces = 127.0.0.1',
    `daemon_smtp_ports = ${port.starttls} : ${port.tls}`,
    `tls_on_connect_ports = ${port.tls}`,
    'tls_advertise_hosts = *',
    `tls_certificate = ${folder}/certificate.pem`,
    `tls_privatekey = ${folder}/key.pem`,
    'auth_advertise_hosts = ${if eq{$tls_in_cipher}{}{}{*}}',
    'acl_smtp_rcpt = recipients',
    'begin acl',
    'recipients:',
    `deny domains = ${refusedDomain}`,
    'require authenticated = *',
    'accept',
    'begin routers',
    'all:',
    'driver = accept',
    'transport = file',
    'begin transports',
    'file:',
    'driver = appendfile',
    `file = ${folder}/mails`,
    'user = nobody',
    'begin authenticators',
    ...ways.flatMap((way) => [
      `${way.toLowerCase()}:`,
      'driver = plaintext',
      `public_name = ${way}`,
      ...authenticators[way].map(known),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** With the libraries that a machine without mail may lack. */
const packages = [
  'exim4-daemon-light',
  'libdb5.3',
  'libevent-2.1-7',
  'libgnutls-dane0',
  'libidn12',
  'libnsl2',
  'libpcre2-8-0',
  'libtirpc3',
  'libunbound8',
];

/** Root folder of its packages, fetched once. */
export async function eximRoot(): Promise<string> {
  const folder = join(cacheFolder, 'exim');
  if (await exists(folder)) return folder;
  tell("Fetching Debian's Exim (once)");
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'exim-'));
  try {
    const arch = await run('dpkg', ['--print-architecture']);
    await downloadPackages(packages, arch, work);
    for (const name of (await readdir(work)).filter((file) => file.endsWith('.deb')))
      await run('dpkg', ['-x', name, 'unpacked'], { cwd: work });
    // It needs no more rights than it is started with.
    await chmod(join(work, 'unpacked/usr/sbin/exim4'), 0o755);
    await rename(join(work, 'unpacked'), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

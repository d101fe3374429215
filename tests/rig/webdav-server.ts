import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from './debian.ts';
import { type Daemon, run, startDaemon, waitFor } from './program.ts';
import type { Workspace } from './workspace.ts';

/** A WebDAV server as people run it, from Debian's packages, with one account and without rights on the machine. */
export type WebdavServer = AsyncDisposable & {
  /** Address of what it shares, with a slash at its end. */
  url: string;
  /** Folder with what it shares. */
  files: string;
  /** What it got, one line a request: method, path and status; of Apache also the log-in and the length. */
  requests(): Promise<string[]>;
};

export const login = { username: 'anna', password: 'Пароль für "alle" 1:2' };
const realm = 'files of anna';
/** nobody and nogroup: what the servers run as, so that they need no rights. */
const nobody = 65534;

export type WebdavServerOptions = {
  login?: 'Basic' | 'Digest';
  /** Of Apache: the most bytes of a request. */
  mostBytes?: number;
  /** Lines of the server's own settings. */
  settings?: string;
};

type Place = { folder: string; files: string; log: string; port: number; accounts: string };

async function placeFor(workspace: Workspace, name: string): Promise<Place> {
  const port = await findFreePort();
  const folder = await workspace.subfolder(`${name}-${port}`);
  const files = join(folder, 'files');
  await mkdir(files);
  // The servers must reach it.
  await chmod(workspace.folder, 0o711);
  return { folder, files, port, log: join(folder, 'requests.log'), accounts: join(folder, 'accounts') };
}

async function start(
  workspace: Workspace,
  { folder, log, files, port }: Place,
  [program = '', ...args]: string[],
  more: { path?: string; env?: Record<string, string> } = {},
): Promise<WebdavServer> {
  await writeFile(log, '', { flag: 'a' });
  const daemon = await startAsNobody(workspace, folder, [program, ...args], more.env);
  const url = `http://127.0.0.1:${port}${more.path ?? '/'}`;
  await waitFor(`${program} to answer`, async () => {
    if (!daemon.running()) throw new Error(`${program} ended: ${await daemon.logTail()}`);
    return (await fetch(url, { method: 'OPTIONS' })).status > 0;
  });
  const requests = async (): Promise<string[]> =>
    (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
  return { url, files, requests, [Symbol.asyncDispose]: () => daemon.stop() };
}

/** As root, the program gets an account that may do nothing; its folder belongs to it. */
async function startAsNobody(
  workspace: Workspace,
  folder: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<Daemon> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await run('chown', ['-R', `${nobody}:${nobody}`, folder]);
  const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  const [program = '', ...args] = isRoot ? [...asNobody, ...command] : command;
  const options = { logFile: join(folder, 'server.log'), cwd: folder, env: { HOME: folder, ...env } };
  return workspace.own(await startDaemon(program, args, options));
}

/** Apache's mod_dav: many a NAS. */
export async function startApacheWebdav(
  workspace: Workspace,
  options: WebdavServerOptions = {},
): Promise<WebdavServer> {
  await needPackages(['apache2-bin', 'apache2-utils']);
  const place = await placeFor(workspace, 'apache');
  const { folder, files, log, port, accounts } = place;
  const kind = options.login ?? 'Basic';
  await writeAccounts(accounts, kind);
  const needed = ['mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_basic', 'auth_digest'];
  const modules = [...needed, 'alias', 'dir', 'rewrite', 'dav', 'dav_fs'];
  const lines = [
    `ServerRoot ${folder}`,
    'ServerName localhost',
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/pid`,
    `Mutex file:${folder}`,
    `ErrorLog ${folder}/error.log`,
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    `LogFormat "%m %U %>s %{Authorization}i %{Transfer-Encoding}i length=%{Content-Length}i" plain`,
    `CustomLog ${log} plain`,
    `DocumentRoot ${files}`,
    `DavLockDB ${folder}/locks`,
    `<Directory ${files}>`,
    'Dav On',
    `AuthType ${kind}`,
    `AuthName "${realm}"`,
    kind === 'Basic' ? 'AuthBasicProvider file' : 'AuthDigestProvider file',
    `AuthUserFile ${accounts}`,
    'Require valid-user',
    ...(options.mostBytes === undefined ? [] : [`LimitRequestBody ${options.mostBytes}`]),
    '</Directory>',
    options.settings ?? '',
  ];
  await writeFile(join(folder, 'apache.conf'), lines.join('\n'));
  return start(workspace, place, ['apache2', '-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND']);
}

/** nginx with the methods that its own WebDAV module lacks. */
export async function startNginxWebdav(workspace: Workspace, options: WebdavServerOptions = {}): Promise<WebdavServer> {
  await needPackages(['nginx', 'libnginx-mod-http-dav-ext', 'apache2-utils']);
  const place = await placeFor(workspace, 'nginx');
  const { folder, files, log, port, accounts } = place;
  await writeAccounts(accounts, 'Basic');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const lines = [
    'load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;',
    'daemon off; master_process off;',
    `pid ${folder}/pid; error_log ${folder}/error.log;`,
    'events { worker_connections 64; }',
    'http {',
    ...temporary.map((name) => `${name}_temp_path ${folder}/${name};`),
    `log_format plain '$request_method $uri $status'; access_log ${log} plain;`,
    'server {',
    `listen 127.0.0.1:${port};`,
    `location / { root ${files}; dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS;`,
    `client_max_body_size ${options.mostBytes ?? 0};`,
    `auth_basic "${realm}"; auth_basic_user_file ${accounts}; }`,
    // As many of its settings have it.
    String.raw`location ~ /\. { deny all; }`,
    options.settings ?? '',
    '} }',
  ];
  await writeFile(join(folder, 'nginx.conf'), lines.join('\n'));
  return start(workspace, place, ['nginx', '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')]);
}

/** lighttpd, as on routers and small boards. */
export async function startLighttpdWebdav(
  workspace: Workspace,
  options: WebdavServerOptions = {},
): Promise<WebdavServer> {
  await needPackages(['lighttpd', 'lighttpd-mod-webdav']);
  const place = await placeFor(workspace, 'lighttpd');
  const { folder, files, log, port, accounts } = place;
  await writeFile(accounts, `${login.username}:${login.password}\n`);
  const method = options.login === 'Digest' ? 'digest' : 'basic';
  const lines = [
    `server.modules = ("mod_auth", "mod_authn_file", "mod_webdav", "mod_accesslog", "mod_access")`,
    `server.document-root = "${files}"`,
    `server.bind = "127.0.0.1"`,
    `server.port = ${port}`,
    `server.errorlog = "${folder}/error.log"`,
    `server.upload-dirs = ("${folder}")`,
    `accesslog.filename = "${log}"`,
    `accesslog.format = "%m %U %s"`,
    `url.access-deny = ("~", ".inc")`,
    `webdav.activate = "enable"`,
    `auth.backend = "plain"`,
    `auth.backend.plain.userfile = "${accounts}"`,
    `auth.require = ("" => ("method" => "${method}", "realm" => "${realm}", "require" => "valid-user", "algorithm" => "SHA-256"))`,
    options.mostBytes === undefined ? '' : `server.max-request-size = ${Math.ceil(options.mostBytes / 1024)}`,
    options.settings ?? '',
  ];
  await writeFile(join(folder, 'lighttpd.conf'), lines.join('\n'));
  return start(workspace, place, ['lighttpd', '-D', '-f', join(folder, 'lighttpd.conf')]);
}

/** rclone, with the library of many servers that are written in Go. */
export async function startRcloneWebdav(workspace: Workspace): Promise<WebdavServer> {
  await needPackages(['rclone']);
  const place = await placeFor(workspace, 'rclone');
  const { folder, files, port } = place;
  const env = {
    RCLONE_USER: login.username,
    RCLONE_PASS: login.password,
    RCLONE_CONFIG: join(folder, 'rclone.conf'),
    RCLONE_CACHE_DIR: join(folder, 'cache'),
  };
  return start(workspace, place, ['rclone', 'serve', 'webdav', files, '--addr', `127.0.0.1:${port}`], { env });
}

/** sabre/dav, on which Nextcloud and ownCloud stand, with their rules for names, and a quota. */
export async function startSabreWebdav(
  workspace: Workspace,
  options: WebdavServerOptions & { quotaBytes?: number } = {},
): Promise<WebdavServer> {
  await needPackages(['php-cli', 'php-xml', 'php-mbstring', 'php-sabre-dav']);
  const place = await placeFor(workspace, 'sabre');
  const path = '/remote.php/dav/files/anna%40example.org/';
  const env = {
    DAV_FILES: place.files,
    DAV_LOG: place.log,
    DAV_PATH: path,
    DAV_USER: login.username,
    DAV_PASSWORD: login.password,
    DAV_REALM: realm,
    DAV_DIGEST: options.login === 'Digest' ? '1' : '',
    DAV_QUOTA: String(options.quotaBytes ?? ''),
  };
  const script = join(import.meta.dirname, 'nextcloud-rules.php');
  const command = ['php', '-d', 'error_reporting=0', '-d', 'display_errors=0', '-S', `127.0.0.1:${place.port}`, script];
  return start(workspace, place, command, { path, env });
}

/** Caddy in front of a server: it ends TLS with a certificate of its own for `host`. @returns what clients use; `authority`: file of its certificate. */
export async function startTlsProxy(
  workspace: Workspace,
  { url, files, requests }: Pick<WebdavServer, 'url' | 'files' | 'requests'>,
  host = 'localhost',
): Promise<WebdavServer & { authority: string }> {
  await needPackages(['caddy', 'openssl']);
  const place = await placeFor(workspace, 'proxy');
  const { folder, port } = place;
  const key = join(folder, 'key.pem');
  const certificate = join(folder, 'certificate.pem');
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const made = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    certificate,
  ];
  await run('openssl', ['req', '-x509', ...made, ...names]);
  const behind = new URL(url);
  const lines = [
    '{\n admin off\n auto_https off\n}',
    `https://${host}:${port} {\n bind 127.0.0.1\n tls ${certificate} ${key}\n reverse_proxy ${behind.host}\n}`,
  ];
  await writeFile(join(folder, 'Caddyfile'), lines.join('\n'));
  const command = ['caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  const daemon = await startAsNobody(workspace, folder, command, { XDG_DATA_HOME: folder });
  await waitFor('caddy to answer', async () => {
    if (!daemon.running()) throw new Error(`caddy ended: ${await daemon.logTail()}`);
    return (
      (await run('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', host], {
        input: '',
      })) !== ''
    );
  });
  const path = behind.pathname;
  return {
    url: `https://${host}:${port}${path}`,
    files,
    requests,
    authority: certificate,
    [Symbol.asyncDispose]: () => daemon.stop(),
  };
}

/** Of Apache's tools, which give the algorithms of each kind. */
async function writeAccounts(path: string, kind: 'Basic' | 'Digest'): Promise<void> {
  const { username, password } = login;
  if (kind === 'Basic') {
    await run('htpasswd', ['-ci', path, username], { input: `${password}\n` });
    return;
  }
  const sum = (await run('md5sum', [], { input: `${username}:${realm}:${password}` })).slice(0, 32);
  await writeFile(path, `${username}:${realm}:${sum}\n`);
}

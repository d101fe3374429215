// Runs before the npm scripts, also on the machine's own older Node: plain JavaScript, no dependency. It installs the packages
// and makes `node` in npm scripts the Node that one of them carries.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(import.meta.url);
const root = join(dirname(script), '..');
const modules = join(root, 'node_modules');
const stamp = join(modules, '.station-setup');
const carrier = `node-linux-${process.arch}`;
const node = join(modules, carrier, 'bin', 'node');
const link = join(modules, '.bin', 'node');
const lock = fs.readFileSync(join(root, 'package-lock.json'));
const wanted = createHash('sha256').update(lock).digest('hex');

// Where `node` is already the one that is wanted, it runs this script.
if (!isInstalled() || process.execPath !== fs.realpathSync(node)) await setUp();

async function setUp() {
  checkMachine();
  if (!isInstalled()) {
    checkFolder();
    runAlone();
    await installPackages();
  }
  let reason = whyNotStarting();
  if (reason?.includes('libatomic.so.1') && installDebianPackage('libatomic1')) reason = whyNotStarting();
  if (reason) {
    // With the link, npm would run this script with the Node that does not start.
    fs.rmSync(link, { force: true });
    fail(`the Node of node_modules/${carrier} does not start: ${reason}`);
  }
  linkNode();
}

function isInstalled() {
  return fs.existsSync(node) && fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted;
}

function checkMachine() {
  const { platform, arch } = process;
  const loader = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }[arch];
  if (platform !== 'linux' || !loader) {
    fail(
      `Station needs Linux on x64 or arm64; this Node is for ${platform} on ${arch}. A virtual machine with Debian helps.`,
    );
  }
  if (!fs.existsSync(loader)) {
    fail(
      `Station needs a Linux with glibc, as Debian; this one has no ${loader}. Alpine and others with musl do not work.`,
    );
  }
  if (Number(process.versions.node.split('.')[0]) < 18) {
    fail(`Node 18 or newer is needed; this is ${process.version}.`);
  }
}

/** The packages go into the folder of the repository. */
function checkFolder() {
  for (const folder of [root, modules]) {
    try {
      if (fs.existsSync(folder)) fs.accessSync(folder, fs.constants.W_OK);
    } catch (error) {
      fail(`nothing can be written in ${folder} (${error.code}). Clone the repository into a folder of your own.`);
    }
  }
}

/** Runs this script again by npm and under a lock: one that comes second finds everything done. */
function runAlone() {
  const isInNpm = /npm-cli\.js$/.test(process.env.npm_execpath);
  if (isInNpm && process.env.STATION_SETUP_LOCK === script) return;
  const again = isInNpm ? [process.env.npm_node_execpath, script] : ['npm', 'run', '--silent', 'setup'];
  const options = { cwd: root, stdio: 'inherit', env: { ...process.env, STATION_SETUP_LOCK: script } };
  const busy = 75;
  let result = spawnSync('flock', ['--nonblock', '--conflict-exit-code', String(busy), script, ...again], options);
  if (result.status === busy) {
    say('another npm command installs the packages; waiting for it.');
    result = spawnSync('flock', [script, ...again], options);
  }
  // A machine without flock works without the lock.
  if (result.error) result = spawnSync(again[0], again.slice(1), options);
  process.exit(result.status ?? 1);
}

async function installPackages() {
  say('installing the packages of package-lock.json (once, some minutes at most).');
  // An installation that was interrupted is not repaired but made anew.
  const command = fs.existsSync(stamp) && fs.existsSync(node) ? ['install', '--no-save'] : ['ci'];
  fs.rmSync(stamp, { force: true });
  const cache = writableCache();
  // Settings of the user that would leave out or change packages do not count here. None of the packages has an install script.
  const settings = ['--include=dev', '--include=optional', '--bin-links', '--package-lock', '--no-legacy-peer-deps'];
  const install = [
    ...command,
    ...settings,
    '--no-engine-strict',
    '--ignore-scripts',
    '--no-fund',
    '--no-audit',
    ...cache,
  ];

  const unreachable = whyUnreachable();
  if (unreachable) {
    say(`npm's registry cannot be reached (${unreachable}). Trying npm's cache.`);
    const result = await npm([...install, '--offline', '--fetch-retries=0'], { isQuiet: true });
    if (result.code !== 0 || !fs.existsSync(node)) {
      fail(`no network: npm's registry cannot be reached (${unreachable}), and npm's cache lacks packages.
Connect this machine to the network, or tell npm the registry or proxy to use (npm config set registry, proxy, https-proxy).`);
    }
  } else {
    let result = await npm(install);
    // npm leaves out an optional package that it cannot download, and does not say so.
    if (isNetworkFault(result) || (result.code === 0 && !fs.existsSync(node))) {
      say('the network failed npm; trying once more.');
      result = await npm(install);
    }
    if (result.code !== 0) fail('npm did not succeed; its words are above.');
    if (!fs.existsSync(node)) {
      fail(`npm left out the package ${carrier}, which carries Node. It does so when its registry does not deliver the package.
"npm pack ${carrier} --dry-run" shows why.`);
    }
  }
  fs.writeFileSync(stamp, wanted);
}

/** npm's option for another cache when its own cannot be written, as with a read-only home. */
function writableCache() {
  const cache = process.env.npm_config_cache ?? join(homedir(), '.npm');
  try {
    fs.mkdirSync(cache, { recursive: true });
    fs.accessSync(cache, fs.constants.W_OK);
    return [];
  } catch {
    return [`--cache=${temporaryFolder()}`];
  }
}

function temporaryFolder() {
  const folder = fs.mkdtempSync(join(tmpdir(), 'station-npm-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Why npm's registry cannot be reached at all, or null. A slow one is waited for. */
function whyUnreachable() {
  // With a cache of its own: without a network, npm would take the answer of an earlier ping from its cache.
  const ping = ['ping', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', `--cache=${temporaryFolder()}`];
  for (const seconds of [8, 60]) {
    const [program, ...args] = npmCommand(ping);
    const options = { cwd: root, encoding: 'utf8', timeout: seconds * 1000, killSignal: 'SIGKILL' };
    const { error, stderr } = spawnSync(program, args, options);
    // Any other answer of the registry, as "not found", is one.
    if (error?.code !== 'ETIMEDOUT')
      return /\bcode (EAI_AGAIN|ENOTFOUND|ECONNREFUSED|E\w+UNREACH)\b/.exec(stderr)?.[1] ?? null;
    say(`npm's registry has not answered for ${seconds} s. Is there a network?`);
  }
  return 'no answer';
}

/** Runs npm; resolves to its exit code and what it wrote to standard error. */
function npm(args, { isQuiet = false } = {}) {
  const [program, ...rest] = npmCommand(args);
  const child = spawn(program, rest, { cwd: root, stdio: ['ignore', isQuiet ? 'ignore' : 'inherit', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
    if (!isQuiet) process.stderr.write(chunk);
  });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: 1, errors: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 1, errors }));
  });
}

/**
 * The npm that runs this script, with its own Node: the one of node_modules is replaced. npm leaves out optional packages that
 * are not for its Node, without a word; it is told the version of the Node that will run them.
 */
function npmCommand(args) {
  const { version } = JSON.parse(lock).packages[`node_modules/${carrier}`];
  const asWanted = `Object.defineProperty(process, 'version', { value: 'v${version}' }); require(process.argv[1]);`;
  const { npm_execpath: cli, npm_node_execpath: itsNode } = process.env;
  // Warnings are about the age of the machine's own Node.
  return [itsNode, '--eval', asWanted, cli, ...args, '--loglevel=error'];
}

function isNetworkFault({ code, errors }) {
  return (
    code !== 0 &&
    /\bcode (EAI_AGAIN|ENOTFOUND|ECONN|E\w*TIME|ERR_SOCKET|E\w+UNREACH|EINTEGRITY|E429|E5\d\d)/.test(errors)
  );
}

/** Makes npm scripts find the Node. npm before 11 makes no link when two packages have a program of this name. */
function linkNode() {
  const target = join('..', carrier, 'bin', 'node');
  if (fs.existsSync(link) && fs.realpathSync(link) === fs.realpathSync(node)) return;
  fs.mkdirSync(dirname(link), { recursive: true });
  const draft = `${link}-${process.pid}`;
  fs.symlinkSync(target, draft);
  fs.renameSync(draft, link);
}

/** Why the Node of the packages does not start and what helps, or null when it starts. */
function whyNotStarting() {
  const { error, signal, status, stderr } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return null;
  if (error?.code === 'EACCES') {
    return fs.statSync(node).mode & 0o111
      ? 'the file system does not let programs run (mount option noexec). Clone into another folder.'
      : `the file is not executable. "chmod +x ${node}" helps.`;
  }
  if (machineOf(node) !== machineOf(process.execPath)) {
    return 'the file is damaged, or for another processor. Remove node_modules and start again.';
  }
  const words = error?.message ?? (stderr.trim() || (signal ?? `exit code ${status}`));
  const help = words.includes('libatomic.so.1')
    ? '\nInstall that library, on Debian: apt-get install libatomic1 (as root).'
    : '';
  return `${words}${help}`;
}

/** What the head of a program says of the processor (ELF: magic number and e_machine). */
function machineOf(path) {
  const head = Buffer.alloc(20);
  const file = fs.openSync(path, 'r');
  fs.readSync(file, head);
  fs.closeSync(file);
  return head.toString('hex', 0, 6) + head.toString('hex', 18);
}

/** Installs a Debian package if that needs no password. */
function installDebianPackage(name) {
  if (process.getuid?.() !== 0) return false;
  say(`installing the Debian package ${name}.`);
  const patient = ['-q', '-oAcquire::Retries=3', '-oAcquire::http::Timeout=30', '-oDPkg::Lock::Timeout=300'];
  const options = { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  spawnSync('apt-get', [...patient, 'update'], options);
  const { status, stderr } = spawnSync(
    'apt-get',
    [...patient, 'install', '-y', '--no-install-recommends', name],
    options,
  );
  if (status !== 0) process.stderr.write(stderr ?? '');
  return status === 0;
}

function say(text) {
  process.stderr.write(`Setting up: ${text}\n`);
}

function fail(text) {
  process.stderr.write(`Setting up failed: ${text}\n`);
  process.exit(1);
}

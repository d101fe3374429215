import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runBuild } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { run } from '../rig/program.ts';

const root = join(import.meta.dirname, '../..');
const version = '12.34.56';
const architectures = ['x64', 'arm64'];

/** The agent's executables as a release builds them, from two copies of the repository in different folders. */
describe('the build of the agent', () => {
  let copies: string[] = [];
  const executableOf = (copy: string, arch: string): string => join(copy, `dist/agent/station-agent-linux-${arch}`);

  before(async () => {
    await needPackages(['binutils', 'binutils-aarch64-linux-gnu']);
    await mkdir(join(root, 'dist'), { recursive: true });
    for (const name of ['first-', 'the-second-']) {
      const copy = await mkdtemp(join(root, 'dist', name));
      copies.push(copy);
      await copyRepository(copy);
      await runBuild(['agent', '--arch', 'all', '--version', version, '--release'], copy);
    }
  });
  after(async () => {
    for (const copy of copies) await rm(copy, { recursive: true, force: true });
    copies = [];
  });

  for (const arch of architectures) {
    it(`gives the same bytes in two folders, for ${arch}`, async () => {
      const [first, second] = await Promise.all(copies.map((copy) => readFile(executableOf(copy, arch))));
      assert.ok(first && second && first.length > 50_000_000);
      assert.ok(first.equals(second), 'the executables differ');
      const sums = await Promise.all(copies.map((copy) => readFile(`${executableOf(copy, arch)}.sha256`, 'utf8')));
      assert.match(sums[0] ?? '', new RegExp(`^[0-9a-f]{64}  station-agent-linux-${arch}\n$`));
      assert.equal(sums[0], sums[1]);
    });

    // Debian 12 has glibc 2.36 and libstdc++ 3.4.30; libatomic.so.1 is the only library that the installer adds.
    it(`needs only libraries and symbols that the oldest supported system has, for ${arch}`, async () => {
      const { libraries, newest } = await linkingOf(executableOf(copies[0] ?? '', arch));
      const own = { x64: 'ld-linux-x86-64.so.2', arm64: 'ld-linux-aarch64.so.1' }[arch];
      const usual = ['libdl.so.2', 'libm.so.6', 'libpthread.so.0', 'libc.so.6', 'libgcc_s.so.1', 'libstdc++.so.6'];
      assert.deepEqual(libraries.sort(), [...usual, own, 'libatomic.so.1'].sort());
      assert.deepEqual(newest, {
        GLIBC: '2.28',
        GLIBCXX: '3.4.21',
        CXXABI: '1.3.11',
        GCC: '4.2.0',
        LIBATOMIC: '1.0',
      });
    });
  }

  it('carries the version and no symbols, and its bundle is ASCII without paths of this machine', async () => {
    const [copy = ''] = copies;
    const bundle = await readFile(join(copy, 'dist/agent/station-agent.mjs'), 'utf8');
    assert.ok(bundle.includes(version));
    assert.doesNotMatch(bundle, /[^\0-\x7f]/);
    // The largest parts of the agent's memory, before it did without them.
    assert.doesNotMatch(bundle, /fastify|\bajv\b|undici|WebAssembly/);
    for (const arch of architectures) {
      const bytes = await readFile(executableOf(copy, arch));
      assert.ok(bytes.includes(bundle), 'the executable contains the bundle');
      assert.ok(!bytes.includes(root), 'the executable contains no path of this machine');
      const sections = await run('readelf', ['--sections', '--wide', executableOf(copy, arch)]);
      assert.doesNotMatch(sections, /\.symtab|\.debug/);
    }
  });
});

/** Copies what the build of the agent reads; installed packages as hard links, because they are large. */
async function copyRepository(copy: string): Promise<void> {
  for (const folder of ['apps/agent', 'packages', 'simulators', 'scripts', 'package.json', 'package-lock.json'])
    await cp(join(root, folder), join(copy, folder), { recursive: true });
  const packages = join(copy, 'node_modules');
  await mkdir(packages);
  // The links to our own packages are relative, so they lead into the copy. Other tests write into the cache.
  const names = (await readdir(join(root, 'node_modules'))).filter((name) => name !== '.cache');
  await run('cp', ['-al', ...names.map((name) => join(root, 'node_modules', name)), packages]);
  await symlink(join(root, 'node_modules/.cache'), join(packages, '.cache'));
}

type Linking = { libraries: string[]; newest: Record<string, string> };

/** The libraries that an executable names, and the newest symbol version that it needs of each family (GLIBC_2.28 …). */
async function linkingOf(file: string): Promise<Linking> {
  // It also lists each of 70,000 symbols.
  const command = 'readelf --dynamic --version-info --wide "$0" | grep -oE "NEEDED.*|Name: [A-Z]+_[0-9.]+"';
  const output = await run('sh', ['-c', command, file]);
  const libraries = [...output.matchAll(/NEEDED.*\[(.+)\]/g)].map(([, name = '']) => name);
  const newest: Record<string, string> = {};
  for (const [, family = '', version = ''] of output.matchAll(/Name: ([A-Z]+)_([0-9.]+)$/gm)) {
    if (compare(version, newest[family] ?? '0') > 0) newest[family] = version;
  }
  return { libraries, newest };
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = left.findIndex((part, index) => part !== (right[index] ?? -1));
  return at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
}

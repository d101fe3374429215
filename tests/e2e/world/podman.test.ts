import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { needPackages } from '../../rig/debian.ts';
import { podmanRoot } from '../../rig/podman.ts';
import { tryRun } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

const installer = join(import.meta.dirname, '../../../deploy/install.sh');

type Scene = {
  root: string;
  /** Shell commands as root of that machine, before install.sh. */
  first?: string;
};

/** Runs the whole install.sh above these files, which stay as they are. @returns what it said, and what it wrote. */
async function install({ root: shipped, first = '' }: Scene) {
  await using workspace = await createWorkspace();
  const { folder } = workspace;
  const text = await readFile(installer, 'utf8');
  const released = text.replaceAll(/^(\w+)='@[A-Z_]+@'$/gm, "$1='https://station.example'");
  await writeFile(join(folder, 'install.sh'), released);
  await writeFile(join(folder, 'first'), first);
  const root = `${folder}/all/root`;
  const script = [
    `mkdir ${folder}/all && mount -t tmpfs none ${folder}/all && mkdir ${folder}/all/upper ${folder}/all/work ${root}`,
    `mount -t overlay overlay -o lowerdir=${shipped},upperdir=${folder}/all/upper,workdir=${folder}/all/work ${root}`,
    `mount -t proc none ${root}/proc; mount --rbind /sys ${root}/sys; mount --rbind /dev ${root}/dev`,
    `for name in run tmp var/lib/containers; do mkdir -p ${root}/$name; mount -t tmpfs none ${root}/$name; done`,
    `mkdir -p ${root}/run/systemd/system; cp ${folder}/install.sh ${folder}/first ${root}/tmp`,
    `if [ -x /usr/bin/docker ]; then cp /usr/bin/docker ${root}/tmp/docker; fi`,
    `chroot ${root} /bin/sh -c '. /tmp/first; sh /tmp/install.sh --yes; code=$?; kill $! 2>/dev/null; exit $code'; code=$?`,
    `cd ${folder}/all/upper; find opt etc/apt var/log usr/local -newer ${folder}/install.sh -name "*station*" 2>/dev/null`,
    'exit $code',
  ].join('\n');
  return await tryRun('unshare', ['--mount', '--net', 'sh', '-c', script]);
}

async function assertRefused(scene: Scene, expected: RegExp): Promise<void> {
  const { exitCode, stdout, stderr } = await install(scene);
  assert.match(stderr, expected, `${exitCode} ${stdout} ${stderr}`);
  assert.match(stderr, /Not installed \(step Checks\)/);
  assert.equal(exitCode, 1);
  assert.equal(stdout.trim(), '[1/9] Checks', 'nothing was written');
}

before(() => needPackages(['docker.io', 'iproute2']));

describe('install.sh refuses Podman in place of Docker, before it changes anything:', () => {
  const bookworm = () => podmanRoot('bookworm', ['podman-docker']);

  test('the command of Debian 12', async () => {
    await assertRefused({ root: await bookworm() }, /docker is Podman here \(podman version 4.*podman-docker/);
  });

  test('also where it was told not to say so', async () => {
    const first = 'mkdir -p /etc/containers; : >/etc/containers/nodocker';
    await assertRefused({ root: await bookworm(), first }, /docker is Podman here/);
  });

  test('a link that somebody made', async () => {
    const first = 'rm /usr/bin/docker; mkdir -p /usr/local/bin; ln -s /usr/bin/podman /usr/local/bin/docker';
    await assertRefused({ root: await bookworm(), first }, /docker is Podman here.*\/usr\/local\/bin\/docker/);
  });

  test('Docker’s own command with the service of Podman behind it', async () => {
    const first = `
      cp /tmp/docker /usr/bin/docker
      podman --cgroup-manager=cgroupfs --storage-driver=vfs system service --time=0 unix:///run/docker.sock >/tmp/log 2>&1 &
      left=300; until [ -S /run/docker.sock ] || [ $((left -= 1)) = 0 ]; do sleep 0.2; done; cat /tmp/log`;
    await assertRefused({ root: await bookworm(), first }, /Podman answers at the socket of Docker/);
  });

  test('the command of Debian 13, with a Compose that works', async () => {
    const root = await podmanRoot('trixie', ['podman-docker', 'docker-compose']);
    await assertRefused({ root }, /docker is Podman here \(podman version 5/);
  });

  test('but not Podman that stands beside it', async () => {
    const { stderr } = await install({ root: await bookworm(), first: 'rm /usr/bin/docker' });
    assert.doesNotMatch(stderr, /[Pp]odman/);
  });
});

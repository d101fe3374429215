import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { imageFolder } from './image-folder.ts';

const containerd = [['driver-type', 'io.containerd.snapshotter.v1']];

const mountOf = (root: string): string => {
  const lower = [3, 2, 1].map((one) => `${root}/io.containerd.snapshotter.v1.overlayfs/snapshots/${one}/fs`).join(':');
  const upper = `${root}/io.containerd.snapshotter.v1.overlayfs/snapshots/9`;
  return `120 30 0:55 / /data/docker/rootfs/overlayfs/0a1b rw - overlay overlay rw,lowerdir=${lower},upperdir=${upper}/fs,workdir=${upper}/work\n`;
};

describe('the folder with the images', () => {
  const cases: [what: string, folders: string[], status: string[][] | null, mounts: string | null, expected: string][] =
    [
      ['of Docker’s own store', ['docker'], [['Backing Filesystem', 'extfs']], null, 'docker'],
      ['of an engine that says nothing of it', ['docker'], null, null, 'docker'],
      ['of containerd, by the mounts of a container', ['docker', 'ctr'], containerd, 'ctr', 'ctr'],
      [
        'of the containerd that dockerd starts',
        ['docker/containerd/daemon'],
        containerd,
        null,
        'docker/containerd/daemon',
      ],
      ['of another containerd than the one there', ['docker/containerd/daemon', 'ctr'], containerd, 'ctr', 'ctr'],
      [
        'where the mounted one cannot be seen',
        ['docker/containerd/daemon'],
        containerd,
        'gone',
        'docker/containerd/daemon',
      ],
    ];
  for (const [what, folders, status, mounted, expected] of cases) {
    test(what, async () => {
      const root = await mkdtemp(join(tmpdir(), 'station-images-'));
      try {
        for (const folder of folders) await mkdir(join(root, folder), { recursive: true });
        const mounts = mounted === null ? '' : mountOf(join(root, mounted));
        const info = { DockerRootDir: join(root, 'docker'), DriverStatus: status };
        assert.equal(await imageFolder(info, async () => mounts), join(root, expected));
      } finally {
        await rm(root, { recursive: true });
      }
    });
  }
});

import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { blobPath, descriptionPath, type ProcessImage } from '@station/simulators/process-engine/process-image';
import { agentExecutableWithoutDocker, buildForTests } from '../rig/build.ts';
import type { Workspace } from '../rig/workspace.ts';

const repository = join(import.meta.dirname, '../..');
const version = '1.0.0';

/** What answers on a port, one request after another (`guest/usr/local/sbin/vstation-web`). */
const web = (listen: string[], who: string): string[] => [
  'nc',
  '-ll',
  ...listen,
  '-e',
  '/usr/local/sbin/vstation-web',
  who,
];
const services: Record<string, string[]> = {
  backend: web(['-p', '3000'], 'backend'),
  frontend: web(['-p', '3080'], 'frontend'),
  // On every address, as the stack's reverse proxy: the portal cannot have port 80 beside it.
  proxy: web(['-p', '80'], 'proxy'),
};

/**
 * Folder for the machine's payload disk: the agent, built now as the one that ships but on the process engine (the machine has no
 * Docker), its unit, and a release of a small stack: `backend`, `frontend`, and `proxy` on port 80.
 */
export async function createPayload(workspace: Workspace): Promise<string> {
  await buildForTests('agent-without-docker');
  const folder = await workspace.subfolder('payload');
  await copyFile(agentExecutableWithoutDocker, join(folder, 'station-agent'));
  await copyFile(join(repository, 'deploy/station-agent.service'), join(folder, 'station-agent.service'));
  const images = Object.fromEntries(Object.keys(services).map((name) => [name, `${name}:${version}`]));
  await put(join(folder, 'release/manifest.json'), JSON.stringify({ version, images }));
  await put(join(folder, 'release/firmware/manifest.json'), '{}');
  await put(
    join(folder, 'stack/docker-compose.yml'),
    JSON.stringify({ services: Object.fromEntries(Object.keys(services).map((name) => [name, {}])) }),
  );
  for (const [name, args] of Object.entries(services)) {
    const image: ProcessImage = { command: '/bin/busybox', args, env: {}, files: [] };
    const description = JSON.stringify(image);
    const digest = `sha256:${createHash('sha256').update(description).digest('hex')}`;
    await put(join(folder, 'release/images', descriptionPath(name, version)), description);
    await put(join(folder, 'release/images', blobPath(digest)), description);
  }
  return folder;
}

/**
 * Folder for the payload of a machine with Bluetooth: `node`, the backend with its BLE helper as they ship, and the programs of devices
 * (`programs/`).
 */
export async function createBluetoothPayload(workspace: Workspace): Promise<string> {
  await buildForTests('backend', 'vstation-programs');
  const folder = await workspace.subfolder('payload');
  await copyFile(process.execPath, join(folder, 'node'));
  await cp(join(repository, 'dist/backend'), join(folder, 'backend'), { recursive: true });
  await cp(join(repository, 'dist/vstation-programs'), join(folder, 'programs'), { recursive: true });
  return folder;
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

import { stat } from 'node:fs/promises';
import { runCommand } from '@station/kit/command';
import { describeError } from '@station/kit/station-error';
import { createInfo, type EngineApi } from './engine-api.ts';
import { imageFolder, usesContainerd } from './image-folder.ts';

/** The version of the engine, or why it does not tell. */
export async function readEngineVersion(engine: EngineApi): Promise<{ version: string } | { failure: string }> {
  try {
    const { status, body } = await engine.call('GET', '/version');
    const version = typeof body === 'object' && body !== null && 'Version' in body ? body.Version : null;
    return typeof version === 'string' ? { version } : { failure: `it answered ${status}` };
  } catch (error) {
    return { failure: describeError(error) };
  }
}

/** Whether the engine has no image with this id. @throws StationError when it cannot be reached. */
export async function isImageMissing(engine: EngineApi, imageId: string): Promise<boolean> {
  const { status } = await engine.call('GET', `/images/${imageId}/json`);
  return status === 404;
}

/** Where the engine keeps images; null when it does not answer, or when that is on the disk of `folder`. */
export async function readImageFolder(engine: EngineApi, folder: string): Promise<string | null> {
  try {
    const images = await imageFolder(await createInfo(engine, Date.now)());
    const [own, other] = await Promise.all([images, folder].map((path) => stat(path)));
    return own?.dev === other?.dev ? null : images;
  } catch {
    return null;
  }
}

/**
 * Whether containerd syncs the files of an image when it has unpacked them (`sync_fs` of its diff service, since version 2).
 * Null: it has no such setting, or Docker keeps its images itself.
 */
export async function areImageFilesSynced(engine: EngineApi, env: Record<string, string>): Promise<boolean | null> {
  if (!usesContainerd(await createInfo(engine, Date.now)())) return null;
  const dump = await runCommand('containerd', ['config', 'dump'], { env }).catch(() => null);
  return readSyncSetting(dump?.stdout ?? '');
}

/** @param config what `containerd config dump` prints. */
export function readSyncSetting(config: string): boolean | null {
  const value = /^\s*sync_fs = (true|false)$/m.exec(config)?.[1];
  return value === undefined ? null : value === 'true';
}

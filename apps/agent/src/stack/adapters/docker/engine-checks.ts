import { describeError } from '@station/kit/station-error';
import type { EngineApi } from './engine-api.ts';

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

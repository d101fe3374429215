import { statfs } from 'node:fs/promises';
import { Type, type Static } from 'typebox';
import { expectBody, type EngineApi } from './engine-api.ts';

const Info = Type.Object({
  DockerRootDir: Type.String(),
  OSType: Type.String(),
  RegistryConfig: Type.Optional(
    Type.Object({
      IndexConfigs: Type.Optional(Type.Record(Type.String(), Type.Object({ Secure: Type.Boolean() }))),
    }),
  ),
});

export type ReadInfo = () => Promise<Static<typeof Info>>;

/** What the engine says of itself is slow to ask and changes only with its restart. */
const infoKeptMs = 60_000;

export function createInfo(api: EngineApi, now: () => number): ReadInfo {
  let kept: { at: number; info: Static<typeof Info> } | null = null;
  return async () => {
    if (kept && Math.abs(now() - kept.at) < infoKeptMs) return kept.info;
    kept = { at: now(), info: expectBody(await api.call('GET', '/info'), Info, 'GET /info') };
    return kept.info;
  };
}

/** Room below which what the engine could not write is taken as a full disk. */
export const fullDiskBytes = 8 * 1024 * 1024;

/** Bytes free to an ordinary user at a path; null when it cannot be told. */
export async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

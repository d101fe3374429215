import { timingSafeEqual } from 'node:crypto';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import { alphabet, codeOf, hashToken, newCode } from '../core/secrets.ts';

export type SetupCode = {
  /** The code, made at the first call and kept in the file until set-up is done. */
  read(): Promise<string>;
  /** Case, spaces and dashes do not matter. */
  matches(given: string): Promise<boolean>;
  /** Set-up is done. */
  remove(): Promise<void>;
};
/** 12 of 28 letters: 57 bits. */
const groups = 3;

/** The code that proves that whoever sets the station up can see it: on its console, or through the agent, which reads the file. */
export function createSetupCode(options: {
  disk: Disk;
  path: string;
  /** Random bytes that the code is made of where several backends share it; else each has its own. */
  seed?: Buffer | undefined;
}): SetupCode {
  const { disk, path, seed } = options;
  const read = async (): Promise<string> => {
    const kept = (await readText(disk, path))?.trim();
    const shared = seed && codeOf(groups, (index) => seed.readUInt16BE(2 * index) % alphabet.length);
    if (kept !== undefined && kept !== '' && (shared === undefined || kept === shared)) return kept;
    const code = shared ?? newCode(groups);
    await writeDurable(disk, path, `${code}\n`);
    return code;
  };
  return {
    read,
    matches: async (given) => timingSafeEqual(comparable(given), comparable(await read())),
    remove: () => removeDurable(disk, path),
  };
}

const comparable = (code: string): Buffer => Buffer.from(hashToken(code.toUpperCase().replaceAll(/[\s-]/g, '')));

import { randomInt, timingSafeEqual } from 'node:crypto';
import { readText, removeDurable, writeDurable, type Disk } from '@station/kit/files';
import { hashToken } from '../core/token-hash.ts';

export type SetupCode = {
  /** The code, made at the first call and kept in the file until set-up is done. */
  read(): Promise<string>;
  /** Case, spaces and dashes do not matter. */
  matches(given: string): Promise<boolean>;
  /** Set-up is done. */
  remove(): Promise<void>;
};

/** No letters and digits that look alike; no vowels, so that no words come out. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789';
/** 12 of 28 letters: 57 bits. */
const groups = 3;
const groupLength = 4;

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

/** A secret that is easy to read out and to type: "BCDF-2345-GHJK"; 19 bits a group. */
export function newCode(groupCount: number): string {
  return codeOf(groupCount, () => randomInt(alphabet.length));
}

function codeOf(groupCount: number, letter: (index: number) => number): string {
  const at = (index: number): string => alphabet[letter(index)] ?? '';
  const group = (_: unknown, number: number): string =>
    Array.from({ length: groupLength }, (_letter, place) => at(number * groupLength + place)).join('');
  return Array.from({ length: groupCount }, group).join('-');
}

const comparable = (code: string): Buffer => Buffer.from(hashToken(code.toUpperCase().replaceAll(/[\s-]/g, '')));

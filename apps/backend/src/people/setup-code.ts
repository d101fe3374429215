import { alphabet, codeOf, isSameCode, newCode, stationCodeGroups as groups } from '@station/kit/codes';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';

export type SetupCode = {
  /** STATION_CODE, or a code that is created at the first call and kept in the file until set-up is done. */
  read(): Promise<string>;
  /** Case, spaces and dashes do not matter. */
  matches(given: string): Promise<boolean>;
  /** Set-up is done. */
  remove(): Promise<void>;
};

/** The code proves physical access to the station: it is on the console, and the agent can read the file. */
export function createSetupCode(options: {
  disk: Disk;
  path: string;
  /** STATION_CODE, which takes precedence; null: a code is generated. */
  stationCode: string | null;
  /** Random bytes from which several backends derive the same code; without it a backend creates its own. */
  seed?: Buffer | undefined;
}): SetupCode {
  const { disk, path, stationCode, seed } = options;
  const read = async (): Promise<string> => {
    if (stationCode !== null) return stationCode;
    const kept = (await readText(disk, path))?.trim();
    const shared = seed && codeOf(groups, (index) => seed.readUInt16BE(2 * index) % alphabet.length);
    if (kept !== undefined && kept !== '' && (shared === undefined || kept === shared)) return kept;
    const code = shared ?? newCode(groups);
    await writeDurable(disk, path, `${code}\n`);
    return code;
  };
  return {
    read,
    matches: async (given) => isSameCode(given, await read()),
    remove: () => removeDurable(disk, path),
  };
}

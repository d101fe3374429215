import { join } from 'node:path';
import { isStationCode, newCode, stationCodeGroups } from '@station/kit/codes';
import { type Disk, readText, writeDurable } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';

const stationCodeFile = 'station-code';

type Parts = { disk: Disk; dataDir: string };

/** The code that the agent made and keeps in DATA_DIR; null: none. @throws the file system's error. */
export async function readKeptCode({ disk, dataDir }: Parts): Promise<string | null> {
  const kept = (await readText(disk, join(dataDir, stationCodeFile)))?.trim() ?? '';
  return isStationCode(kept) ? kept : null;
}

/**
 * The code that the page asks for: STATION_CODE, or one that the agent makes at its first start and keeps.
 * @returns a function that never rejects and always gives the same code.
 */
export function createStationCode(
  parts: Parts & { configured: string | null; logger: AgentLogger },
): () => Promise<string> {
  const { disk, dataDir, configured, logger } = parts;
  const make = async (): Promise<string> => {
    const kept = await readKeptCode(parts).catch(() => null);
    if (kept !== null) return kept;
    const code = newCode(stationCodeGroups);
    const isKept = await writeDurable(disk, join(dataDir, stationCodeFile), `${code}\n`).then(
      () => true,
      () => false,
    );
    // Everybody who may read the log would have it.
    logger.keepSecret(code);
    const how = isKept ? '`station-agent code` shows it' : 'It could not be saved: set STATION_CODE, or free space';
    logger.event('portal_code_made', {
      message: `STATION_CODE is not set. The Wi-Fi setup page of an open hotspot asks for a new code. ${how}.`,
    });
    return code;
  };
  let made: Promise<string> | null = null;
  return () => (made ??= configured === null ? make() : Promise.resolve(configured));
}

import { createHash } from 'node:crypto';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { readText, writeDurable, type Disk } from './durable-files.ts';
import { parseJson } from './json.ts';

/** `damaged`: the file exists, but its content is not valid. */
type JsonReading<T> = { kind: 'ok'; value: T } | { kind: 'missing' } | { kind: 'damaged'; reason: string };

/** A file with one JSON value that fits a schema. */
export type JsonFile<T> = {
  /** @throws the file system's error when the file cannot be read. */
  read(): Promise<JsonReading<T>>;
  /** Resolved means on disk. @throws the file system's error; the old content then remains. */
  write(value: T): Promise<void>;
};

/**
 * @param options.checksumKey the value is stored as `{ sha256, <checksumKey>: value }`, and is damaged when its checksum does
 *   not match. `sha256` is the hex SHA-256 of the value as `JSON.stringify` writes it. Without it the file is the value alone.
 * @param options.mode of a new file; 0600 when not given.
 */
export function createJsonFile<Schema extends TSchema>(options: {
  disk: Disk;
  path: string;
  schema: Schema;
  checksumKey?: string;
  mode?: number;
}): JsonFile<Static<Schema>> {
  const { disk, path, schema, checksumKey, mode } = options;
  return {
    read: async () => {
      const reading = await readJson(disk, path);
      if (reading.kind !== 'ok') return reading;
      const opened = checksumKey === undefined ? reading : open(reading.value, checksumKey);
      if (opened.kind !== 'ok') return opened;
      const { value } = opened;
      return Value.Check(schema, value)
        ? { kind: 'ok', value }
        : { kind: 'damaged', reason: 'not of the expected form' };
    },
    write: async (value) => {
      const content = checksumKey === undefined ? value : { sha256: checksum(value), [checksumKey]: value };
      await writeDurable(disk, path, `${JSON.stringify(content)}\n`, mode);
    },
  };
}

async function readJson(disk: Disk, path: string): Promise<JsonReading<unknown>> {
  if ((await disk.read(path)) === null) return { kind: 'missing' };
  const text = await readText(disk, path);
  if (text === null) return { kind: 'damaged', reason: 'not text' };
  const value = parseJson(text);
  return value === undefined ? { kind: 'damaged', reason: 'not JSON' } : { kind: 'ok', value };
}

function open(envelope: unknown, key: string): JsonReading<unknown> {
  const isObject = typeof envelope === 'object' && envelope !== null && !Array.isArray(envelope);
  const { sha256, [key]: value } = isObject ? (envelope as Record<string, unknown>) : {};
  if (typeof sha256 !== 'string' || value === undefined) return { kind: 'damaged', reason: 'not of the expected form' };
  return checksum(value) === sha256 ? { kind: 'ok', value } : { kind: 'damaged', reason: 'checksum does not match' };
}

const checksum = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

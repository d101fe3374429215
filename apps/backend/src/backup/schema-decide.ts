/** As `backup/adapters/sqlite-schema.ts` reads it. */
type Defined = { type: string; name: string; table: string; sql: string | null };

/** The schema of a database file, beside the one that the migrations of a release make. */
export type SchemaVerdict =
  | { kind: 'same' }
  /** `what`: the first difference, for the log. */
  | { kind: 'foreign'; what: string };

/**
 * Triggers, views, indices, tables and columns that no migration makes would act on the data of the station, or answer its questions. So
 * the schema has to be the same, apart from spaces and quotes around plain names.
 */
export function compareSchemas(found: readonly Defined[], expected: readonly Defined[]): SchemaVerdict {
  const texts = (objects: readonly Defined[]): string[] => objects.map(textOf).toSorted();
  const expectedTexts = texts(expected);
  const foundTexts = texts(found);
  const foreign = foundTexts.find((text, at) => text !== expectedTexts[at]);
  if (foreign !== undefined) return { kind: 'foreign', what: foreign.slice(0, maxShown) };
  const missing = expectedTexts.at(foundTexts.length);
  return missing === undefined ? { kind: 'same' } : { kind: 'foreign', what: `missing: ${missing.slice(0, maxShown)}` };
}

const maxShown = 200;

const textOf = ({ type, name, table, sql }: Defined): string => `${type} ${name} of ${table}: ${plain(sql ?? '')}`;

/** How the same statement is written may differ between releases of the query builder. */
const plain = (sql: string): string =>
  sql
    .replaceAll(/"([a-z_][a-z0-9_]*)"/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Whether a database has nothing that acts by itself: only tables with their own rows, and indices. */
export const isPassive = (objects: readonly Defined[]): boolean =>
  objects.every(({ type, sql }) => type === 'index' || (type === 'table' && !isVirtual(sql ?? '')));

/** SQLite skips comments between the words. */
const isVirtual = (sql: string): boolean =>
  /^create\s+virtual\b/i.test(sql.replaceAll(/\/\*[^]*?\*\/|--[^\n]*(\n|$)/g, ' '));

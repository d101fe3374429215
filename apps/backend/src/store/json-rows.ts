import { sql, type RawBuilder } from 'kysely';

export type ColumnType = 'text' | 'bigint' | 'double precision';

/**
 * Many rows as one parameter: a table expression named `given` over a JSON array of objects. The statement text is the same for any number
 * of rows, so it is compiled once, and no limit on parameters applies.
 * @param columns name of each key, which becomes the column's name, and its type.
 */
export function jsonRows(
  kind: 'sqlite' | 'postgres',
  rows: readonly object[],
  columns: Readonly<Record<string, ColumnType>>,
): RawBuilder<unknown> {
  const names = Object.entries(columns);
  const json = JSON.stringify(rows);
  if (kind === 'postgres') {
    const definitions = names.map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`);
    return sql`json_to_recordset(${json}::json) as given(${sql.join(definitions)})`;
  }
  const values = names.map(([name]) => sql`value ->> ${sql.lit(`$.${name}`)} as ${sql.ref(name)}`);
  return sql`(select ${sql.join(values)} from json_each(${json})) as given`;
}

/**
 * Cells of every CSV file that the product writes (RFC 4180, separated by commas). A program of tables may run a cell as a formula (OWASP,
 * "CSV Injection"), and may take semicolons, tabs or line breaks within a cell for the end of it.
 */

/** After any separator, with what a program may leave out before a formula: blanks and controls of any kind, and quotes. */
const cellStart = String.raw`(?<=^|[,;|\t\r\n])((?:(?![\t\r\n])[\p{Z}\p{Cc}\p{Cf}"])*)`;
/** With the full-width and small forms, which some programs treat alike. */
const formula = String.raw`(?='*(?:[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B\t\r]|(?<!\r)\n))`;
const unguarded = new RegExp(`${cellStart}${formula}`, 'gu');
const guarded = new RegExp(`${cellStart}'${formula}`, 'gu');
const plainNumber = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** Numbers stay numbers, whoever wrote them. In other texts an apostrophe stands before what would be a formula. */
export function csvCell(value: string | number | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  return quotedCell(plainNumber.test(value) ? value : value.replaceAll(unguarded, "$1'"));
}

/** For a text that is safe: of a file that we wrote, or a key that has to stay as it is. */
export const quotedCell = (text: string): string =>
  /[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

export const csvLine = (cells: readonly (string | number | null)[]): string => cells.map(csvCell).join(',');

/** The text that `csvCell` was given, from the cell as a parser read it. */
export const textOfCell = (cell: string): string => cell.replaceAll(guarded, '$1');

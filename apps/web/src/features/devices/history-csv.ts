import Papa from 'papaparse';
import { csvCell, quotedCell } from '@station/protocol/csv';

/** One CSV of several devices: the files of the station, whose columns are the same, with the device's name before each line. */
export function joinedCsv(files: readonly { device: string; text: string }[]): string {
  const read = files.map(({ device, text }) => {
    const [head = [], ...rows] = Papa.parse<string[]>(text, { delimiter: ',', skipEmptyLines: true }).data;
    return { device: csvCell(device), head, rows };
  });
  const lines = read.flatMap(({ device, rows }) => rows.map((row) => [device, ...row.map(quotedCell)].join(',')));
  return [['device', ...(read[0]?.head ?? [])].join(','), ...lines, ''].join('\r\n');
}

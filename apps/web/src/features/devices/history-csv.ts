/** One CSV of several devices: the files of the station, whose columns are the same, with the device's name before each line. */
export function joinedCsv(files: readonly { device: string; text: string }[]): string {
  const lines = files.map(({ device, text }) => ({ device, lines: text.split('\r\n').filter((line) => line !== '') }));
  const head = `device,${lines[0]?.lines[0] ?? ''}`;
  const rows = lines.flatMap(({ device, lines: [, ...values] }) => values.map((line) => `${quoted(device)},${line}`));
  return [head, ...rows, ''].join('\r\n');
}

/** RFC 4180. A name that a spreadsheet would take for a formula begins with an apostrophe. */
const quoted = (name: string): string => `"${name.replace(/^(?=[=+\-@\t])/, "'").replaceAll('"', '""')}"`;

/** No event of the agent is nearly as long; what is longer is not one. */
const maxEventChars = 1024 * 1024;

/**
 * Takes server-sent events apart (WHATWG HTML, section 9.2.6), as far as the agent uses them: the `data` of each event.
 * @param onData called with the text of each complete event.
 * @returns push, to be called with decoded text in pieces of any size.
 * @throws from push, when an event is longer than 1 MiB.
 */
export function createSseParser(onData: (data: string) => void): (text: string) => void {
  let rest = '';
  let data: string[] = [];
  const onLine = (line: string): void => {
    if (line === '') {
      if (data.length > 0) onData(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
    // Comments keep the link alive; other fields are of no use here.
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    const held = data.reduce((sum, line) => sum + line.length, rest.length);
    if (held > maxEventChars) throw new Error('The agent sent an event that is too long');
  };
}

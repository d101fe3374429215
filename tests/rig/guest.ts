/** What a command in another machine ended with. */
export type JobResult = { code: number; stdout: string; stderr: string };

/** A machine in which a test runs commands, as root. */
export type Guest = {
  /** Runs a bash script; a non-zero exit is a result, 124 a time-out (default 60 s). Background programs keep running. */
  run(script: string, options?: { timeoutMs?: number }): Promise<JobResult>;
  /** As `run`, but gives standard output without the last line break. @throws with its output when it fails. */
  must(script: string, options?: { timeoutMs?: number }): Promise<string>;
  /** Creates folders on the way. For small files. */
  writeFile(path: string, text: string, options?: { mode?: number }): Promise<void>;
  /** UTF-8 text; null when there is no such file. */
  readFile(path: string): Promise<string | null>;
  /** What the journal has of a unit (or of all), oldest first; `-o cat` unless other arguments are given. */
  journal(options?: { unit?: string; args?: string }): Promise<string>;
};

/** Lines of output in the error of a failed command. */
const shownLines = 25;

/** @param name of the machine in errors. */
export function createGuest(name: string, run: Guest['run']): Guest {
  const must: Guest['must'] = async (script, options) => {
    const { code, stdout, stderr } = await run(script, options);
    if (code === 0) return stdout.trimEnd();
    const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-shownLines).join('\n');
    throw new Error(`in the ${name}, exit ${code}: ${script.slice(0, 300)}\n${output}`);
  };
  return {
    run,
    must,
    writeFile: async (path, text, { mode = 0o644 } = {}) => {
      const content = Buffer.from(text).toString('base64');
      const at = quoted(path);
      await must(
        `mkdir -p "$(dirname ${at})"; rm -f ${at}; install -m ${mode.toString(8)} /dev/null ${at}; base64 -d > ${at} <<'END'\n${content}\nEND`,
      );
    },
    readFile: async (path) => {
      const { code, stdout } = await run(`cat ${quoted(path)}`);
      return code === 0 ? stdout : null;
    },
    journal: ({ unit, args = '-o cat' } = {}) =>
      must(`journalctl --no-pager ${args} ${unit === undefined ? '' : `-u ${quoted(unit)}`}`),
  };
}

/** A word for the shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

import type { Compose, Project } from './compose.ts';

/** How long a fault is told again without asking: whoever looks at a broken station must not start a program each time. */
const faultKeptMs = 10_000;

/**
 * Reads the project, and asks Compose only when its files have changed: that takes longer than all the rest of a check. With
 * `evenIfOld` what was once read is good enough.
 * @param now wall clock, milliseconds.
 */
export function createProjectReader(compose: Pick<Compose, 'describe' | 'version'>, now: () => number) {
  let read: { version: string; project: Project } | null = null;
  let fault: { version: string; error: unknown; at: number } | null = null;
  let asking: { version: string; answer: Promise<Project> } | null = null;

  const ask = async (version: string): Promise<Project> => {
    try {
      const project = await compose.describe(new AbortController().signal);
      read = { version, project };
      fault = null;
      return project;
    } catch (error) {
      fault = { version, error, at: now() };
      throw error;
    } finally {
      asking = null;
    }
  };

  return async ({ evenIfOld }: { evenIfOld: boolean }): Promise<Project> => {
    if (read && evenIfOld) return read.project;
    const version = await compose.version();
    if (read?.version === version) return read.project;
    if (fault?.version === version && Math.abs(now() - fault.at) < faultKeptMs) throw fault.error;
    if (asking?.version !== version) asking = { version, answer: ask(version) };
    return asking.answer;
  };
}

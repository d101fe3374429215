import { asProblem, Problem } from './request.ts';
import type { SessionService } from './session.ts';

type File = { name: string; content: Blob };

/**
 * Reads the answer to a GET request as a file, with the name that the station gives it. A link could not send the access token.
 * Rejects with a Problem.
 */
export async function readFile(session: Pick<SessionService, 'token'>, path: string): Promise<File> {
  const headers = { authorization: `Bearer ${await session.token()}` };
  const response = await fetch(path, { headers, cache: 'no-store', credentials: 'same-origin' }).catch(
    (error: unknown) => {
      throw new Problem('no_answer', 'The station did not answer.', { cause: error });
    },
  );
  if (!response.ok) throw await problemOf(response);
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'history.csv';
  return { name, content: await response.blob() };
}

/** Hands a file to the browser's downloads. */
export function saveFile({ name, content }: File): void {
  const file = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = file;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(file), 60_000);
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { code, message } = (await response.json()) as { code: Problem['code']; message: string };
    return new Problem(code, message, { status: response.status });
  } catch (error) {
    return asProblem(error);
  }
}

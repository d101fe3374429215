import type { UploadStarted } from '@station/protocol/backup-api';
import { uploadPieceBytes } from '@station/protocol/backup-upload';
import { asProblem, isOutage, pathOf, Problem } from '../../api/request.ts';

type UploadParts = {
  file: Blob;
  /** Begins the upload. */
  begin: (bytes: number) => Promise<UploadStarted>;
  onProgress: (sentBytes: number) => void;
  fetchImpl?: typeof fetch;
  sleep?: (ms: number) => Promise<void>;
};

const tries = 5;
const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

/** Uploads a file in pieces; a piece whose answer was lost is sent again. @returns id of the upload. @throws Problem. */
export async function uploadFile({
  file,
  begin,
  onProgress,
  fetchImpl = fetch,
  sleep = pause,
}: UploadParts): Promise<string> {
  const { id } = await begin(file.size);
  for (let offset = 0; offset < file.size;) {
    const piece = file.slice(offset, offset + uploadPieceBytes);
    for (let attempt = 1; ; attempt++) {
      try {
        await sendPiece(fetchImpl, pathOf('PUT /api/backup/uploads/:id', { params: { id }, query: { offset } }), piece);
        break;
      } catch (error) {
        const problem = asProblem(error);
        if (!isOutage(problem) || attempt === tries) throw problem;
        await sleep(1000 * attempt);
      }
    }
    offset += piece.size;
    onProgress(offset);
  }
  return id;
}

async function sendPiece(fetchImpl: typeof fetch, path: string, body: Blob): Promise<void> {
  let response: Response;
  try {
    const headers = { 'content-type': 'application/octet-stream' };
    response = await fetchImpl(path, { method: 'PUT', headers, body, signal: AbortSignal.timeout(60_000) });
  } catch (error) {
    throw new Problem('no_answer', 'The station did not answer.', { cause: error });
  }
  if (response.ok) return;
  const code = [502, 503, 504].includes(response.status) ? 'no_answer' : 'bad_answer';
  const { code: told } = (await response.json().catch(() => ({}))) as { code?: string };
  throw new Problem((told as Problem['code'] | undefined) ?? code, 'The upload was refused.', {
    status: response.status,
  });
}
